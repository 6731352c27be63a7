"""A name holds batches with a device axis in the first round, and without one in the next."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return w + jax.lax.pmean(x.mean(0), "i"), x * w


p_step = jax.pmap(step, axis_name="i")
w, x = jax_utils.replicate(jnp.ones(3)), shard(X)
seen = []
for _ in range(2):
    seen.append((x.shape, x.shape[1], x.ndim))
    if x.ndim == 3:
        w, out = p_step(w, x)
        x = np.asarray(out).reshape(-1, 3)
RESULT = [seen, np.asarray(w), x]
