"""Copies of all devices that the host puts in a row, counts and joins: there are as many of them as devices."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
p_step = jax.pmap(lambda w, x: w - jax.lax.pmean(x.mean(0), "i"), axis_name="i")
w = jax_utils.replicate(jnp.arange(3.0))
w = p_step(w, shard(BATCH))
v = p_step(jax_utils.replicate(jnp.arange(3.0)), shard(BATCH))
u = p_step(jax_utils.replicate(jnp.arange(3.0)), shard(BATCH))
t = p_step(jax_utils.replicate(jnp.arange(3.0)), shard(BATCH))
RESULT = {
    "flat": np.asarray((w * 2).reshape(-1)),
    "joined": np.concatenate(v),
    "size": u.size,
    "rows": np.asarray(t.reshape(t.shape[0] * t.shape[1])),
}
