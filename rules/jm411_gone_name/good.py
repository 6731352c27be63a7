import jax


def first(x: jax.Array, y):
    return x.at[0].set(y)
