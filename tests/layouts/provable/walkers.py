"""Markov chains without any collective: all of it stays one slice per device."""
import jax
import jax.numpy as jnp


def sweep(key, x):
    key, move, accept = jax.random.split(key, 3)
    proposal = x + jax.random.normal(move, x.shape)
    ratio = jnp.exp(0.5 * (x**2 - proposal**2))
    return key, jnp.where(jax.random.uniform(accept, x.shape) < ratio, proposal, x)


p_sweep = jax.pmap(sweep)  # expect: stacked, stacked -> stacked, stacked
keys = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
x = jnp.zeros((jax.local_device_count(), 5))
for _ in range(4):
    keys, x = p_sweep(keys, x)
RESULT = {"x": x, "keys": keys}
