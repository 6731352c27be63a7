import jax


def first(x, y):
    return jax.ops.index_update(x, 0, y)  # JM411
