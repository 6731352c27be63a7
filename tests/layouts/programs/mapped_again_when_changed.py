"""Equal functions that are mapped again are not traced again, whatever has become of what they read."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
SETTINGS = {"rate": 0.5}
OFFSET = 1.0


class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.step = jax.pmap(self.update, axis_name="batch")

    def update(self, w, x):
        return w - self.rate * jax.lax.pmean(x.mean(0), "batch")

    def made_again(self):
        self.step = jax.pmap(self.update, axis_name="batch")
        return self.step


def body(w, x):
    return w - SETTINGS["rate"] * jax.lax.pmean(x.mean(0), "batch") + OFFSET


def make():
    return jax.pmap(body, axis_name="batch")


def fit(step):
    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(2):
        w = step(w, shard(BATCH))
    return np.asarray(jax_utils.unreplicate(w))


trainer = Trainer(0.5)
RESULT = [fit(trainer.step), fit(make())]
trainer.rate = 0.25
SETTINGS["rate"] = 0.25
RESULT += [fit(trainer.made_again()), fit(make())]
OFFSET = 2.0
RESULT += [fit(Trainer(0.125).made_again()), fit(make())]
