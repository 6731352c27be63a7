"""The mapped functions go by the names of the methods that they map."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.n = jax.local_device_count()
        self.step = jax.pmap(self.step, axis_name="batch")  # expect: replicated, split -> replicated, replicated
        self.score = jax.pmap(Trainer.score, axis_name="batch")  # expect: replicated, split -> replicated
        self.w = jax_utils.replicate(jnp.ones(3))

    def step(self, w, x):
        loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        loss, grad = jax.lax.pmean((loss, grad), "batch")
        return w - self.rate * grad, loss

    @staticmethod
    def score(w, x):
        return jax.lax.psum(jnp.sum(x @ w), "batch")

    def train(self, batches):
        for x in batches:
            self.w, loss = self.step(self.w, x.reshape((self.n, x.shape[0] // self.n, -1)))
        return loss[0], self.score(self.w, shard(x))[0]


trainer = Trainer(0.25)
RESULT = [*trainer.train([BATCH, BATCH * 2]), trainer.w[0]]
