"""Maps that are given as many of the first devices as there are rows, which they would take by themselves."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "i")


def run(w, x):
    rows = x.shape[0]
    devices = jax.devices()[:rows] if rows < jax.device_count() else None
    p_step = jax.pmap(step, axis_name="i", devices=devices)  # expect: replicated, split -> replicated
    p_mean = jax.pmap(step, "i", devices=jax.devices()[: x.shape[0]])  # expect: replicated, split -> replicated
    return p_mean(p_step(w, x), x)


RESULT = run(jax_utils.replicate(jnp.ones(3)), shard(BATCH))[0]
