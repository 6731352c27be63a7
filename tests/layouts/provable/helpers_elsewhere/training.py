import functools
import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="batch")  # expect: replicated, split -> replicated
def p_step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")
