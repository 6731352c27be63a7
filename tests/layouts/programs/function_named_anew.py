"""Functions are given names, as decorators do: they are what they were."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def named(name):
    def op(w, x):
        grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")
        return w - 0.125 * grad

    op.__name__ = name
    op.__doc__ = f"The step {name}."
    return op


def helper(w):
    return w.sum()


helper.__name__ = "total"

w = jax_utils.replicate(jnp.ones(3))
w = jax.pmap(named("one"), axis_name="batch")(w, shard(BATCH))
w = jax.pmap(named("two"), axis_name="batch")(w, shard(BATCH))
RESULT = [jax_utils.unreplicate(w), helper(w), helper.__name__]
