"""The same function runs twice, with state on the function itself."""
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

def train(seed):
    w = jax_utils.replicate(jnp.full(3, float(seed)))
    w = p_step(w, shard(BATCH))
    train.calls = getattr(train, "calls", 0) + 1
    train.last = w
    return w[0]


first = train(0)
second = train(1)
RESULT = [first, second, train.calls, np.asarray(train.last).sum()]
