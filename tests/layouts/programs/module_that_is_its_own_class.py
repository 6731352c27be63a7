"""A module gets a class whose method sets what the steps are given."""

import sys
import flax.jax_utils
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

n = jax.local_device_count()
X = np.sin(np.arange(n * 6, dtype=np.float32)).reshape(n * 2, 3)


def step(w, x):
    g = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "i")
    return w - 0.1 * g, jax.lax.pmean(jnp.sum(x), "i")


p_step = jax.pmap(step, axis_name="i")

import types


class M(types.ModuleType):
    def spoil(self):
        self.state = np.ones((n, 3), np.float32) * np.arange(n, dtype=np.float32)[:, None]


me = sys.modules[__name__]
me.__class__ = M
state = jnp.ones(3)
state = flax.jax_utils.replicate(state)
me.spoil()
state, loss = p_step(state, shard(X))
RESULT = [np.asarray(state)]
