"""An object with a mapped method is a field of a record, which is a tree of arrays."""
import functools

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@flax.struct.dataclass
class Run:
    trainer: object = flax.struct.field(pytree_node=False)
    count: int = 0


class Trainer:
    def __init__(self, goal):
        self.goal = goal
        self.w = jax_utils.replicate(jnp.ones(3))

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")


trainer = Trainer(1.0)
run = Run(trainer)
trainer.w = trainer.step(trainer.w, shard(BATCH))
apart = jnp.arange(jax.local_device_count() * 3.0).reshape(-1, 3)
RESULT = trainer.w[0], run.trainer.step(apart, shard(BATCH)), np.asarray(run.trainer.w).sum()
