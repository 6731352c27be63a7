"""cond, switch, while_loop and fori_loop under conditions of the device."""
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

def body(w, x):
    rank = jax.lax.axis_index("batch")
    a = jax.lax.cond(x.sum() > 20, lambda w: w + 1, lambda w: w - 1, w)
    b = jax.lax.switch(rank % 3, [lambda w: w, lambda w: w * 2, lambda w: w * 3], w)
    c = jax.lax.fori_loop(0, rank, lambda i, w: w + 1.0, w)
    d = jax.lax.while_loop(lambda s: s.sum() < x.sum(), lambda s: s * 2, w)
    e = jax.lax.fori_loop(0, 3, lambda i, w: w + jax.lax.pmean(x.mean(), "batch"), w)
    return a, b, c, d, e


outs = jax.pmap(body, axis_name="batch")(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
RESULT = [o.sum() for o in outs] + [outs[4][0], outs[0][0], outs[2][7]]
