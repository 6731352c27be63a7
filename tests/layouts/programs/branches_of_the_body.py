"""A static flag decides what a body returns."""
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

@functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(2,))
def body(w, x, verbose):
    new = step(w, x)
    if verbose:
        return new, x.sum()
    return new, jax.lax.psum(x.sum(), "batch")


w = jax_utils.replicate(jnp.ones(3))
w, own = body(w, shard(BATCH), True)
w, total = body(w, shard(BATCH), False)
RESULT = [w[0], own, total[0], own[0]]
