"""One name holds a copy for each device, or a batch, as a condition says."""
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
for flag in (False, True):
    one = w if flag else x
    seen += [one.shape, one.shape[1], one.shape[0] * one.shape[1]]
    out = p_step(one, x) if flag else p_step(w, one)
    seen += [np.asarray(o) for o in out]
RESULT = seen
