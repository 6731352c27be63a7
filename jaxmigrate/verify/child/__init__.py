"""What runs inside the program that is verified: records its mapped calls, changes nothing else.

These files are copied beside the program's own and imported there as `jaxmigrate_child`, by any Python that can run
jax, so they import only the standard library, each other, and jax and numpy where the program has them.
"""
