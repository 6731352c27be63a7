import jax


def make(f):
    return jax.pmap(f, axis_name="batch")
