"""Bodies that return a list, a tuple of one, and a tuple in a tuple."""
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

w = jax_utils.replicate(jnp.ones(3))
as_list = jax.pmap(lambda w, x: [step(w, x), x.sum()], axis_name="batch")(w, shard(BATCH))
as_one = jax.pmap(lambda w, x: (step(w, x),), axis_name="batch")(w, shard(BATCH))
nested = jax.pmap(lambda w, x: (step(w, x), (x.sum(), {"m": jax.lax.pmean(x.sum(), "batch")})), axis_name="batch")(w, shard(BATCH))
RESULT = [type(as_list).__name__, as_list[0][0], as_list[1], as_one[0][0], nested[0][0], nested[1][0].sum(), nested[1][1]["m"][0]]
