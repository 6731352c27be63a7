"""An attribute holds what a map gives, and then a slice of it stacked again: flax asks how that lies on devices."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.mean(0), "batch")


def first(tree):
    return jax.tree.map(lambda x: x[0], tree)


class Trainer:
    def __init__(self):
        self.w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
        self.ema = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
        self.p_step = jax.pmap(step, axis_name="batch")

    def run(self):
        self.w = self.p_step(self.w, shard(BATCH))
        self.w = jnp.stack([self.w[0]] * jax.local_device_count())
        self.ema = self.p_step(self.ema, shard(BATCH))
        saved = first(self.ema)
        self.ema = jax.tree.map(lambda x: jnp.stack([x] * jax.local_device_count()), saved)
        return [jax_utils.unreplicate(self.w), jax_utils.unreplicate(self.ema)]


RESULT = Trainer().run()
