"""Counters, sums and tables of the program's own stand beside a buffer: none of them is a view of it."""
import collections

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def batches(sizes):
    seen, rows = 0, []
    for size in sizes:
        batch = {}
        batch["x"] = np.sin(np.arange(size * 3, dtype=np.float32) + seen).reshape(size, 3)
        for key, value in {"y": batch["x"] / 2}.items():
            batch[key] = value
        seen += size
        rows += [batch]
    yield from rows


def rate(step):
    value = 0.5
    value *= np.minimum(1.0, (step + 1) / 2)
    value /= np.sqrt(step + 1)
    return value


def step(w, batch, scale):
    return w - scale * jax.lax.pmean((batch["x"] * batch["y"]).mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch", in_axes=(0, 0, None))  # expect: replicated, split, broadcast -> replicated
w = jax_utils.replicate(jnp.ones(3))
found, count = collections.defaultdict(list), 0
for batch in batches([16, 8, 24]):
    batch = shard(batch)
    found[count] = rate(count)
    w = p_step(w, batch, found[count])
    count += 1
RESULT = {"w": w[0], "count": count}
