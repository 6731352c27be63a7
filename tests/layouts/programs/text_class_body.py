"""A class body that replicates, and a decorator with arguments that does."""
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

def with_state(w):
    def wrap(function):
        return functools.partial(function, w)

    return wrap


class Fixed:
    w = jax_utils.replicate(jnp.ones(3))
    first = p_step(w, shard(BATCH))[0]


@with_state(jnp.arange(3.0))
def run(w, x):
    w = jax_utils.replicate(w)
    return p_step(w, shard(x))[0]


RESULT = [Fixed.first, run(BATCH)]
