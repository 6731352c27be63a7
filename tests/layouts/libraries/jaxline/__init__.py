"""What jaxline 0.0.8 does with an experiment, in small: itself it calls functions that the newest JAX has no longer.

The programs of the soundness suite that are built on jaxline run with this one on CI. They run with jaxline's own code
as well, on a JAX that has those functions.
"""
