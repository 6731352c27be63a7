"""`[0]` of a tuple of outputs is its first output, not device 0."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch"), jax.lax.pmean(x.std(), "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
out = p_step(jax_utils.replicate(jnp.zeros(3)), shard(np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)))  # careless: out = p_step(jnp.zeros(3), np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3))[0]
RESULT = {"w": out[0][0], "std": out[1][0], "whole": out[0].sum()}  # careless: RESULT = {"w": out, "std": out[1], "whole": out.sum()}
