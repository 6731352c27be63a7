"""A metaclass wraps every method of its classes, which looks at what it is given."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


SEEN = []


def watched(method):
    def call(self, *args):
        SEEN.append([np.shape(x) for x in args])
        return method(self, *args)

    return call


class Watching(type):
    def __new__(cls, name, bases, body):
        wrapped = {k: watched(v) if k == "step" else v for k, v in body.items()}
        return super().__new__(cls, name, bases, wrapped)


class Trainer(metaclass=Watching):
    def __init__(self, goal):
        self.goal = goal
        self.w = jax_utils.replicate(jnp.ones(3))  # careless: self.w = jnp.ones(3)

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # careless: @functools.partial(sharded, in_specs=(None, P(), P("batch")), out_specs=P(), static_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")


trainer = Trainer(1.0)
for i in range(2):
    trainer.w = trainer.step(trainer.w, shard(BATCH + i))  # careless: trainer.w = trainer.step(trainer.w, BATCH + i)
RESULT = trainer.w[0], str(SEEN)  # careless: RESULT = trainer.w, str(SEEN)
