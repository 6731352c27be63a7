"""What starts as a number or a table of the program's own comes to be a buffer, or holds one that is written into."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")


def as_number(w):
    total = 0.0
    for i in range(2):
        buffer = np.array(BATCH)
        x = shard(buffer)
        if i:
            total = buffer
        total += 1
        w = p_step(w, x)
    return w


def as_entry(w):
    table, first = {}, np.array(BATCH)
    table["a"] = first
    x = shard(first)
    table["a"] += 1
    return p_step(w, x)


def as_row(w):
    rows, first = [], np.array(BATCH)
    rows += [first]
    x = shard(first)
    rows[0][2:] = 5
    for row in rows:
        row *= 2
    return p_step(w, x)


class Kept:
    def __init__(self):
        self.kept = {}

    def run(self, w):
        first = np.array(BATCH)
        self.kept = first
        x = shard(first)
        self.kept[3] = 7
        return p_step(w, x)


w = jax_utils.replicate(jnp.ones(3))
RESULT = [one[0] for one in (as_number(w), as_entry(w), as_row(w), Kept().run(w))]
