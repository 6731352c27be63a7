"""A state whose plain method has the name of the mapped method of another, which nobody replicates."""
from functools import partial
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

BATCHES = [np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3) for i in range(3)]


class Mapped(struct.PyTreeNode):
    w: Any

    @partial(jax.pmap, axis_name="i")
    def update(self, x):
        return self.replace(w=self.w - jax.lax.pmean(x.sum(0), "i"))


class Plain(struct.PyTreeNode):
    w: Any

    def update(self, x):
        return self.replace(w=self.w * x.shape[0] + x.sum(axis=(0, 1)))


model = jax_utils.replicate(Plain(jnp.ones(3)))
other = jax_utils.replicate(Mapped(jnp.ones(3)))
for x in BATCHES:
    model = model.update(shard(x))
    other = other.update(shard(x))
RESULT = model.w[3], other.w[2]
