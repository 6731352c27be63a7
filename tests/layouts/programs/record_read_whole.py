"""A batch with named parts is looked at as a whole, and one of its parts is put elsewhere."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(16, dtype=np.float32))


class Batch(NamedTuple):
    x: jax.Array
    y: jax.Array


def step(batch):
    return jax.lax.pmean(batch.x.mean(0), "i"), batch.x.sum(1) * batch.y


p_step = jax.pmap(step, axis_name="i")
batch = Batch(shard(X), shard(Y))
mean, parts = p_step(batch)
sizes = [leaf.shape for leaf in jax.tree.leaves(batch)]
x, y = batch
other = batch._replace(y=np.asarray(x).sum(2))
swapped = Batch(*reversed([shard(Y), shard(X)]))
again = p_step(other)
RESULT = [sizes, x.shape, np.asarray(y).sum(0), *map(np.asarray, (mean, parts, *again, *p_step(swapped)))]
