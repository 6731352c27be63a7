import jax


@jax.jit
def shown(x):
    jax.debug.print("{}", x)
    return x
