"""The class of a mapped method is registered as a tree of arrays, which its method reads while it is traced."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Trainer:
    def __init__(self, goal):
        self.goal = goal
        self.w = jax_utils.replicate(jnp.ones(3))

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self is other

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))
    def step(self, w, x):
        rate = 0.125 if self.goal > 1 else 0.25
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - rate * jax.lax.pmean(grad, "batch")


jax.tree_util.register_pytree_node(Trainer, lambda t: ((t.goal,), None), lambda _, leaves: Trainer(*leaves))
trainer = Trainer(2.0)
for i in range(2):
    trainer.w = trainer.step(trainer.w, shard(BATCH + i))
RESULT = trainer.w[0]
