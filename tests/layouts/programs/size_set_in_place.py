"""The shape of a NumPy array is set, which gives it its device axis."""
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
batch = X.copy()
batch.shape = (8, 2, 3)
w, out = p_step(w, batch)
RESULT = [batch.shape, x.shape, x.shape[0] * x.shape[1], np.asarray(w), np.asarray(out)]
