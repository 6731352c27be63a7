"""A function fills in the attributes of an attribute, as programs do that are configured from code."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Optim:
    def __init__(self):
        self.rate, self.steps = 0.5, 1


class Config:
    def __init__(self):
        self.optim = Optim()


def configured(config):
    config.optim.rate = 0.1
    config.optim.rate = config.optim.rate * 2
    config.optim.steps = 3
    return config


def step(params, x, rate):
    grads = jax.grad(lambda params: jnp.mean((x @ params["w"] + params["b"] - 1) ** 2))(params)
    return jax.tree.map(lambda p, g: p - rate * g, params, jax.lax.pmean(grads, "batch"))


p_step = jax.pmap(step, axis_name="batch", in_axes=(0, 0, None))  # expect: replicated, split, broadcast -> replicated

config = configured(Config())
params = jax_utils.replicate({"w": jnp.linspace(0.1, 1.0, 3), "b": jnp.zeros(())})
for i in range(config.optim.steps):
    params = p_step(params, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)), config.optim.rate)
RESULT = jax_utils.unreplicate(params)
