"""Numbers of SciPy beside which a loss is computed are the same for all devices."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from scipy.special import factorial2


def loss_of(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def data(i):
    return shard(jnp.asarray(np.sin(np.arange(96, dtype=np.float32) + i)).reshape(32, 3))


def targets(count):
    return factorial2(np.arange(1, count + 1))


@functools.partial(jax.pmap, axis_name="i")  # expect: replicated, split -> replicated, replicated
def step(w, x):
    moments = targets(3)
    loss, grads = jax.value_and_grad(lambda w: loss_of(w, x) + ((w - moments) ** 2).sum())(w)
    return w - 0.01 * jax.lax.pmean(grads, "i"), jax.lax.pmean(loss, "i")


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [jax_utils.unreplicate(w), jax_utils.unreplicate(loss)]
