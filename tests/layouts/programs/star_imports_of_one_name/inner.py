import jax


def raised(grad):
    return jax.lax.pmean(grad, "batch") * (1 + jax.lax.axis_index("batch"))
