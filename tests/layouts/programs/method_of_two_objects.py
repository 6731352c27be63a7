"""Two objects of a class call its mapped method: the state of one differs between devices."""
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
        self.w = jax_utils.replicate(jnp.ones(3))  # careless: self.w = jnp.ones(3)

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # careless: @functools.partial(sharded, in_specs=(None, P(), P("batch")), out_specs=P(), static_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")


one, other = Trainer(1.0), Trainer(2.0)
other.w = jnp.arange(jax.local_device_count() * 3.0).reshape(-1, 3)
for trainer in (one, other):
    for _ in range(2):
        trainer.w = trainer.step(trainer.w, shard(BATCH))  # careless: trainer.w = trainer.step(trainer.w, BATCH)
RESULT = [one.w[0], np.asarray(other.w)]  # careless: RESULT = [one.w, np.asarray(other.w)]
