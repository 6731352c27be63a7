"""An attribute holds the parameters of the host for one line, and the replicated ones from then on."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def copied(tree):
    return jax.tree.map(jnp.copy, tree)


class Trainer:
    def __init__(self, size):
        self.size = size
        self.params = {"w": jnp.linspace(0.1, 1.0, size), "b": jnp.zeros(())}
        self.average = copied(self.params)
        self.params = jax_utils.replicate(self.params)
        self.average = jax_utils.replicate(self.average)
        self.p_step = jax.pmap(self.step, axis_name="batch")  # expect: replicated, replicated, split -> replicated, replicated

    def step(self, params, average, x):
        def loss(params):
            return jnp.mean((x @ params["w"] + params["b"] - 1) ** 2)

        grads = jax.lax.pmean(jax.grad(loss)(params), "batch")
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, jax.tree.map(lambda a, p: 0.9 * a + 0.1 * p, average, params)

    def train(self, steps):
        for i in range(steps):
            batch = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, self.size)
            self.params, self.average = self.p_step(self.params, self.average, shard(batch))
        return jax_utils.unreplicate((self.params, self.average))


RESULT = Trainer(3).train(3)
