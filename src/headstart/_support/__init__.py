"""General tools: types, logging, wording, checks of arguments, direction, files, progress, threads.

May import: nothing of headstart but its errors. Hands on: small functions that every other folder uses.
"""
