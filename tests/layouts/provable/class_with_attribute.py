"""A trainer that keeps its state and its mapped step on itself."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Trainer:
    def __init__(self):
        self.params = jax_utils.replicate(jnp.zeros(3))
        self.p_step = jax.pmap(self.step, axis_name="batch")  # expect: replicated, split -> replicated

    def step(self, params, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(params)
        return params - 0.1 * jax.lax.pmean(grad, "batch")

    def train(self, batches):
        for x in batches:
            self.params = self.p_step(self.params, shard(x))
        return jax_utils.unreplicate(self.params)


RESULT = Trainer().train([np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3) for i in range(3)])
