"""What calling an object does is mapped, and so is a method that takes no object."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Step:
    def __init__(self, rate):
        self.rate = rate

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=0)  # expect: static, replicated, split -> replicated
    def __call__(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        return w - self.rate * jax.lax.pmean(grad, "batch")

    @staticmethod
    @functools.partial(jax.pmap, axis_name="batch")  # expect: replicated, split -> replicated
    def score(w, x):
        return jax.lax.pmean(jnp.mean((x @ w - 1) ** 2), "batch")


step, w = Step(0.1), jax_utils.replicate(jnp.zeros(3))
for i in range(3):
    batch = shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3))
    w = step(w, batch)
    loss = Step.score(w, batch), step.score(w, batch)
RESULT = {"w": w[0], "loss": [one[0] for one in loss]}
