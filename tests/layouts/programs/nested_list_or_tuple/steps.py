"""Steps with more or less results."""
import functools

import jax
import jax.numpy as jnp


def step(w, x, full):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    w = w - 0.125 * jax.lax.pmean(grad, "batch")
    if full:
        return w, [jax.lax.pmean(loss, "batch"), x.sum(0)]
    return w, (jax.lax.pmean(loss, "batch"), x.sum(0))


def make_step(full):
    return jax.pmap(functools.partial(step, full=full), axis_name="batch")
