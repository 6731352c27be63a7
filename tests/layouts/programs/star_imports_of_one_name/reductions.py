import jax


def reduced(grad):
    return jax.lax.pmean(grad, "batch")
