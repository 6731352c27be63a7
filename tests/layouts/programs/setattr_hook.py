"""A class whose __setattr__ sees everything that is put into it."""
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

class Trainer:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        object.__setattr__(self, name + "_size", np.size(value))


trainer = Trainer()
trainer.w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
RESULT = [trainer.w_size, trainer.w[0]]
