"""The same key on all devices, deliberately: every device drops the same units, but not the same examples."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, key, x):
    keep = jax.random.bernoulli(key, 0.5, w.shape)
    rows = jax.random.bernoulli(jax.random.fold_in(key, jax.lax.axis_index("batch")), 0.5, x.shape[:1])
    return w + jax.lax.pmean(rows @ x * keep, "batch"), jax.random.split(key)[0]


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = jax.jit(lambda w, k, x: (w + jax.random.bernoulli(k, 0.5, x.shape[:1]) @ x, k))
w = jax_utils.replicate(jnp.zeros(3))  # careless: w = jnp.zeros(3)
key = jax_utils.replicate(jax.random.PRNGKey(3))  # careless: key = jax.random.PRNGKey(3)
for i in range(2):
    x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    w, key = p_step(w, key, shard(x))  # careless: w, key = p_step(w, key, x)
RESULT = {"w": w[0], "key": key[0]}  # careless: RESULT = {"w": w, "key": key}
