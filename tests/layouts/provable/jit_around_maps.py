"""Maps that are compiled once more: by a call, by a decorator, later on; a donation within counts for nothing."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def loss(w, x):
    return jax.lax.pmean(((x @ w) ** 2).mean(), "i")


def update(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: ((x @ w) ** 2).mean())(w), "i")


p_loss = jax.jit(jax.pmap(loss, axis_name="i"))  # expect: replicated, split -> replicated


@jax.jit
@functools.partial(jax.pmap, axis_name="i")  # expect: replicated, split -> replicated
def p_update(w, x):
    return update(w, x)


def make():
    @jax.jit
    @functools.partial(jax.pmap, axis_name="i")  # expect: replicated, split -> replicated
    def made(w, x):
        return update(w, x) + 1

    kept = jax.pmap(update, axis_name="i", donate_argnums=0)  # expect: replicated, split -> replicated
    kept = jax.jit(kept)
    return made, kept


class Trainer:
    def __init__(self):
        self.step = jax.jit(jax.pmap(update, axis_name="i"))  # expect: replicated, split -> replicated
        self.w = jax_utils.replicate(jnp.ones(3))

    def train(self, x):
        self.w = self.step(self.w, shard(x))
        return jax_utils.unreplicate(self.w)


p_made, p_kept = make()
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
RESULT = []
for i in range(2):
    w = p_made(p_update(w, shard(BATCH + i)), x=shard(BATCH))
    after = p_kept(w, shard(BATCH))
    RESULT += [float(p_loss(w, shard(BATCH))[0]), jax_utils.unreplicate(after), jax_utils.unreplicate(w)]
RESULT.append(Trainer().train(BATCH))
