"""A layer in the tree of parameters has a field of its own that is called shape, as it has a size."""
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


@jax.tree_util.register_pytree_node_class
class Layer:
    def __init__(self, w, shape):
        self.w = w
        self.shape = shape

    def tree_flatten(self):
        return (self.w,), self.shape

    @classmethod
    def tree_unflatten(cls, shape, parts):
        return cls(parts[0], shape)


def step(params, batch):
    grads = jax.lax.pmean(batch.mean(0), "batch")
    return {"layer": Layer(params["layer"].w - grads, params["layer"].shape)}


p_step = jax.pmap(step, axis_name="batch")
params = jax_utils.replicate({"layer": Layer(jnp.ones(3), (3, 7))})
params = p_step(params, shard(np.arange(96, dtype=np.float32).reshape(32, 3)))
RESULT = {"shape": params["layer"].shape, "columns": params["layer"].shape[1], "w": params["layer"].w[0]}
