"""Tuples replicated at once, of which the devices change some parts."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(params, count, key):
    key, noise = jax.random.split(key)
    grads = params + jax.lax.axis_index("i") + jax.random.normal(noise, params.shape)
    return params - 0.1 * jax.lax.pmean(grads, "i"), count + jax.lax.axis_index("i"), key


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, stacked, replicated -> replicated, stacked, replicated


def from_a_name():
    state = (jnp.arange(3.0), jnp.zeros((), int), jax.random.PRNGKey(0))
    state = jax_utils.replicate(state)
    params, count, key = state
    for _ in range(3):
        params, count, key = p_step(params, count, key)
    return jax_utils.unreplicate(params), count, jax_utils.unreplicate(key)


def from_a_display():
    params, count, key = jax_utils.replicate((jnp.ones(3), jnp.ones((), int), jax.random.PRNGKey(1)))
    for _ in range(2):
        params, count, key = p_step(params, count, key)
    return jax_utils.unreplicate(params), count.sum(), jax_utils.unreplicate(key)


RESULT = [np.asarray(x) for x in jax.tree.leaves((from_a_name(), from_a_display()))]
