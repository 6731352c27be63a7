"""A step that averages one of two arrays."""
import jax
import jax.numpy as jnp


def step(carry, x):
    w, local = carry
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ (w + local) - 1) ** 2))(w)
    w = w - 0.125 * jax.lax.pmean(grad, "batch")
    return (w, local * 0.5 + x.mean(0)), loss


p_step = jax.pmap(step, axis_name="batch")
