"""Maps made inside functions, methods and loops, on the line where they are called."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

def evaluate(w, xs):
    return [jax.pmap(lambda w, x: jax.lax.pmean((x @ w).mean(), "i"), axis_name="i")(w, shard(x))[0] for x in xs]


class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.p = jax.pmap(self.step, "batch")
        self.w = jax_utils.replicate(jnp.ones(3))

    def step(self, w, x):
        return w - self.rate * jax.lax.pmean(x.mean(0), "batch")

    def run(self, n):
        for i in range(n):
            self.w = self.p(self.w, shard(BATCH + i))
        return self


trainer = Trainer(0.5).run(2)
RESULT = [evaluate(trainer.w, [BATCH, BATCH + 1]), trainer.w[0], Trainer(0.25).run(1).w[0]]
