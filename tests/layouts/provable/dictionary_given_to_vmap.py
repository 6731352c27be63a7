"""A dictionary that a vmapped function out of sight gets: what JAX calls has a copy of it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_of(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def data(i):
    return shard(jnp.asarray(np.sin(np.arange(96, dtype=np.float32) + i)).reshape(32, 3))


def make_sampler(network):
    batched = jax.vmap(network, in_axes=(None, 0))

    def sample(params, x, key):
        return x + 0.1 * jax.random.normal(key, x.shape) * batched(params, x)[:, None]

    return sample


class Model:
    def __init__(self):
        self.networks = [lambda params, x: jnp.tanh(x @ params["w"])]
        self.sample = make_sampler(self.networks[0])


model = Model()


@functools.partial(jax.pmap, axis_name="i")  # expect: replicated, split, stacked -> replicated, stacked
def step(params, x, key):
    grads = jax.lax.pmean(jax.grad(lambda p: loss_of(p["w"], x))(params), "i")
    x = model.sample(params, x, key)
    params["w"] = params["w"] - 0.1 * grads["w"]
    return params, x.sum()


params = jax_utils.replicate({"w": jnp.linspace(0.1, 1.0, 3)})
keys = jax.random.split(jax.random.PRNGKey(0), jax.device_count())
for i in range(3):
    params, total = step(params, data(i), keys)
RESULT = [jax_utils.unreplicate(params)["w"], np.asarray(total)]
