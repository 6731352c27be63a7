"""What a generator returns, through yield from."""
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

def rounds(w, n):
    for _ in range(n):
        w = p_step(w, shard(BATCH))
        yield w[0]
    return w


def outer():
    w = yield from rounds(jax_utils.replicate(jnp.ones(3)), 2)
    yield np.asarray(w).sum()


RESULT = list(outer())
