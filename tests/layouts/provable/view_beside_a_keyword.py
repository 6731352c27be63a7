"""A view of a buffer that is filled again is copied by the next statement, a call that also gives something by name."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard, shard_prng_key


def step(w, x, key):
    return w - jax.lax.pmean((x + jax.random.normal(key, x.shape)).mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split, stacked -> replicated
w, keys = jax_utils.replicate(jnp.ones(3)), shard_prng_key(jax.random.PRNGKey(0))
buffer = np.zeros((16, 3), np.float32)
for i in range(3):
    buffer[...] = np.sin(np.arange(48, dtype=np.float32).reshape(16, 3) + i)
    x = shard(buffer)
    w = p_step(w, x, key=keys)
RESULT = w[0]
