"""What may run as several processes puts results and labels together again, each process its own."""

from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

RANK = jax.process_index()


def unshard(tree):
    return jax.tree.map(lambda x: x.reshape((-1,) + x.shape[2:]), tree)


def step(w, x):
    w = w + jax.lax.pmean(x.sum(0), "batch")
    return w, x * w + jax.lax.axis_index("batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, split
p_scale = jax.pmap(lambda x: {"b": x * 2, "a": x + 1}, axis_name="batch")  # expect: split -> split
w = jax_utils.replicate(jnp.ones(3))
RESULT = []
for i in range(2):
    count = jax.local_device_count()
    x = shard(np.sin(np.arange(count * 12, dtype=np.float32).reshape(count * 4, 3) + i + RANK))
    w, y = p_step(w, x)
    RESULT.append(np.asarray(y.reshape(-1, 3)))
    RESULT.append([float(row.sum()) for row in chain(*y)])
    scaled = unshard(p_scale(x))
    RESULT += [np.asarray(scaled["a"]), np.asarray(scaled["b"])[1:3], list(scaled)]
RESULT.append(np.asarray(jax_utils.unreplicate(w)))
