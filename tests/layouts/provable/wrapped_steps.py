"""Mapped functions in wrappers that hand on whatever they are given."""
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x, y):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - y.sum(1)) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split, split -> replicated, replicated
w = jax_utils.replicate(jnp.ones(3))

times = []


def timed(fn):
    @functools.wraps(fn)
    def run(*args, **kwargs):
        start = time.perf_counter()
        out = fn(*args, **kwargs)
        times.append(time.perf_counter() - start)
        return out

    return run


def checked(fn, *args):
    out = fn(*args)
    jax.block_until_ready(out)
    return out


class Trainer:
    def __init__(self, fn, steps=2):
        self.fn, self.steps = fn, steps

    def fit(self, w, *batch):
        for _ in range(self.steps):
            w, loss = self.fn(w, *batch)
        return w, loss


timed_step = timed(p_step)
for _ in range(2):
    w, loss = timed_step(w, shard(X), shard(Y))
w, loss = checked(p_step, w, shard(X), shard(Y))
w, loss = Trainer(p_step, **{"steps": 3}).fit(w, shard(X), shard(Y))
RESULT = [np.asarray(jax_utils.unreplicate(w)), float(loss[0]), len(times)]
