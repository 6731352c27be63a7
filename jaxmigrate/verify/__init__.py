"""Runs an original program and its rewrite side by side and says whether they compute the same.

JAX lives here and nowhere else, and only in the child processes: nothing below `child` is imported by jaxmigrate.
"""
