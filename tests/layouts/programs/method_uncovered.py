"""An attribute that is deleted uncovers the method of its name."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


class Trainer:
    def __init__(self):
        self.w = jax_utils.replicate(jnp.ones(3))
        self.step = jax.pmap(self.step, axis_name="batch")

    def step(self, w, x):
        return w - 0.25 * jnp.mean(x)

    def run(self):
        self.w = self.step(self.w, shard(BATCH))
        return self.w


trainer = Trainer()
first = trainer.run()[0]
del trainer.step
RESULT = [first, np.asarray(trainer.run()).sum(), np.asarray(trainer.w).shape]
