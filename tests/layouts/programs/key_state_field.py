"""A state with parameters for all devices and a key for each."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard, shard_prng_key

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
KEY = jax.random.PRNGKey(0)


def noisy(w, x, key):
    x = x + jax.random.normal(key, x.shape)
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")

from flax import struct


@struct.dataclass
class State:
    w: jax.Array
    key: jax.Array

    def replicate(self):
        return jax_utils.replicate(self).replace(key=shard_prng_key(self.key))


def body(state, x):
    key, sub = jax.random.split(state.key)
    return state.replace(w=noisy(state.w, x, sub), key=key)


state = State(jnp.ones(3), KEY).replicate()
p_body = jax.pmap(body, axis_name="batch", donate_argnums=(0,))
for i in range(2):
    state = p_body(state, shard(BATCH + i))
RESULT = [jax_utils.unreplicate(state.w), state.key]
