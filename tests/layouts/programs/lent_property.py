"""A property of what is read changes it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7




@jax.tree_util.register_pytree_node_class
class Params:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def tree_flatten(self):
        return (self.w, self.b), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    @property
    def size(self):
        self.b = self.b + 1
        return self.w.size


def step(params, x):
    grads = jax.lax.pmean(jax.grad(lambda p: jnp.mean((x @ p.w + p.b - 1) ** 2))(params), "batch")
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, grads)


p_step = jax.pmap(step, axis_name="batch")


def show(tree):
    print([x.shape for x in jax.tree.leaves(tree)], tree.size)


show(Params(w=jnp.ones(3), b=jnp.ones(2)))
params = jax_utils.replicate(Params(w=jnp.ones(3), b=jnp.zeros(())))
params = p_step(params, shard(BATCH))
show(params)
params = p_step(params, shard(BATCH))
RESULT = [np.asarray(params.w), np.asarray(params.b)]
