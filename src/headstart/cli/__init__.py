"""The command line: parse, call the library, print.

May import: everything. Hands on: text and exit codes; no other folder imports it.
"""
