"""Keys that live on the devices: each is split in the body and handed to the next call."""
import jax
import jax.numpy as jnp
import numpy as np


def step(key, x):
    key, sub = jax.random.split(key)
    return key, x + jax.random.uniform(sub, x.shape)


p_step = jax.pmap(step, axis_name="batch")
keys = jax.random.split(jax.random.PRNGKey(7), jax.device_count())
x = jnp.zeros((jax.device_count(), 4))
for _ in range(3):
    keys, x = p_step(keys, x)
RESULT = {"x": x, "keys": keys, "first_key": keys[0]}
