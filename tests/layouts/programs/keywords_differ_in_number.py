"""One call gives by keyword what another leaves to its default."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x, scale=1.0):
    return w - 0.25 * jax.lax.pmean(jnp.mean(x) * scale, "batch")


p_step = jax.pmap(step, axis_name="batch")
w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
w = p_step(w, x=shard(BATCH))
w = p_step(w=w, x=shard(BATCH))
RESULT = [w[0], np.asarray(w).shape]
