"""Stacked arrays that `pad_shard_unpad` takes for batches, and a batch that it passes on as it is."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.jax_utils import pad_shard_unpad
from flax.training.common_utils import shard


def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, "batch")
p_sum = jax.pmap(lambda x: jax.lax.psum(x.sum(), "batch"), "batch")
p_both = jax.pmap(lambda x, y: x.sum() + jax.lax.psum(y.sum(), "batch"), "batch")
rows = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
w = p_step(jax_utils.replicate(jnp.linspace(0.1, 1.0, 3)), shard(rows))
total = pad_shard_unpad(p_sum, static_argnums=(), static_return=True)(w)  # eight slices are a batch of eight
mixed = pad_shard_unpad(p_both, static_return=True)(shard(rows), rows[:9])
RESULT = [total[0], mixed, w[0]]
