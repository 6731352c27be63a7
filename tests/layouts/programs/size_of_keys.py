"""Keys have a device axis, and their size is the number of devices."""
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
keys = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
noise = jax.pmap(lambda key, x: jax.random.normal(key, x.shape) + x, axis_name="i")
out = noise(keys, x)
RESULT = [keys.shape, keys.shape[0], len(keys), out.shape, out.shape[0] * out.shape[1], len(out), np.asarray(out)]
