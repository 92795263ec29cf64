"""The command line: parse, call the library, print.

May import: everything. Hands on: exit codes and text, nothing that another folder would import.
"""
