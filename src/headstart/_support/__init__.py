"""Tools that know nothing of tuning: types, logging, wording, checks of arguments, files, progress, threads.

May import: nothing of headstart but its errors. Hands on: small functions that every other folder uses.
"""
