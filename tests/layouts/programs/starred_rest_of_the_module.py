"""What a starred name of the module gets is read as an attribute of the module."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), jax.lax.pmean(loss, "batch"), jax.lax.pmean(x.sum(0), "batch")


p_step = jax.pmap(step, axis_name="batch")
w, *_rest = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))


def train(w):
    global kept
    w, *kept = p_step(w, shard(BATCH))
    return w


def sums(name):
    return [np.asarray(one).sum() for one in getattr(sys.modules[__name__], name)]


w = train(w)
RESULT = [jax_utils.unreplicate(w), sums("_rest"), sums("kept")]
