"""Named tuples of functions, made in a function and kept by an object: what is mapped is called through them."""
from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

n = jax.local_device_count()
X = np.sin(np.arange(n * 6, dtype=np.float32)).reshape(n * 2, 3)


def step(w, x):
    g = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "i")
    return w - 0.1 * g, jax.lax.pmean(jnp.sum(x), "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated


class Optimizer(NamedTuple):
    init: Callable
    step: Callable
    rate: float = 0.5


def make():
    @jax.pmap  # expect: replicated -> replicated
    def init(w):
        return jax.tree.map(jnp.zeros_like, w)

    return Optimizer(step=p_step, init=init)


class Trainer:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.w = jax_utils.replicate(jnp.ones(3) * optimizer.rate)
        self.moments = optimizer.init(self.w)

    def fit(self):
        for _ in range(3):
            self.w, loss = self.optimizer.step(self.w, shard(X))
        return [np.asarray(jax_utils.unreplicate(one)) for one in (self.w, self.moments)] + [float(loss[0])]


RESULT = Trainer(make()).fit()
