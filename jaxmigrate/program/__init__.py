"""What the code says: modules, names, functions, mapped sites, collectives and calls, across files.

Stands on the standard library's `ast` alone, so that reading a project costs a parse and a walk. Never runs code.
"""
