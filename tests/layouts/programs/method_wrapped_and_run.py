"""What a constructor gives the method to runs it, and the method names itself."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def run(f, *args):
    return f(*args)


class Trainer:
    def __init__(self):
        self.w = jax_utils.replicate(jnp.ones(3))
        self.first = run(self.step, self.w, 2)
        self.step = jax.pmap(self.step, axis_name="batch", static_broadcasted_argnums=1)

    def step(self, w, deep):
        return w.sum() if deep == 0 else self.step(w, deep - 1) if deep > 0 else w - 0.5


trainer = Trainer()
trainer.w = trainer.step(trainer.w, -1)
RESULT = [trainer.first, trainer.w[0]]
