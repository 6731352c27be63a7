"""State replicated, batch split, keys one per device: three layouts in one signature."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x, key):
    keep = jax.random.bernoulli(key, 0.8, x.shape)
    grad = jax.grad(lambda w: jnp.mean((x * keep @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split, stacked -> replicated
w = jax_utils.replicate(jnp.zeros(3))
key = jax.random.PRNGKey(0)
for i in range(3):
    key, sub = jax.random.split(key)
    keys = jax.random.split(sub, jax.local_device_count())
    w = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)), keys)
RESULT = jax_utils.unreplicate(w)
