"""A program that tries, is refused, and pads: what raised must go on raising, for what follows depends on it."""
import jax
import numpy as np
from flax.training.common_utils import shard

p_sum = jax.pmap(lambda x: jax.lax.psum(x.sum(), "i"), axis_name="i")
found = []
for rows in (16, 20, 5, 24):
    x = np.arange(rows, dtype=np.float32)
    try:
        found.append(p_sum(shard(x))[0])
    except (TypeError, ValueError):
        padded = np.pad(x, (0, -rows % 8), constant_values=1.0)
        found.append(p_sum(shard(padded))[0])
RESULT = found
