"""A mapped method of a state is found by its name, stored, and replaced in its class, with a batch of one device each."""
from functools import partial
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

BATCHES = [np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3) for i in range(3)]


class Model(struct.PyTreeNode):
    w: Any

    @partial(jax.pmap, axis_name="i")
    def update(self, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(self.w)
        return self.replace(w=self.w - 0.25 * jax.lax.pmean(grad, "i"))

    @partial(jax.pmap, axis_name="i")
    def grow(self, x):
        return self.replace(w=self.w + jax.lax.pmean(x.sum(0), "i"))

    @partial(jax.pmap, axis_name="i")
    def shrink(self, x):
        return self.replace(w=self.w - jax.lax.pmean(x.sum(0), "i"))


def wider(self, x):
    return self.replace(w=self.w * x.shape[0] + x.sum(axis=(0, 1)))


model = jax_utils.replicate(Model(jnp.ones(3)))
for x in BATCHES:
    model = model.update(shard(x))
    model = getattr(model, "update")(np.reshape(x, (8, 2, 3)))
    grow = model.grow
    model = grow(np.reshape(x, (8, 2, 3)))
    model = model.shrink(shard(x))
    Model.shrink = wider
RESULT = model.w[3]
