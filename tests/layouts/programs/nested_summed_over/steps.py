"""A step whose metrics are a tuple: an average and each device's own."""
import jax
import jax.numpy as jnp


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    metrics = (jax.lax.pmean(loss, "batch"), loss)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), metrics
