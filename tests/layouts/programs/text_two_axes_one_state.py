"""A state goes through three maps whose axes have three names, and one without a name."""
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

p_a = jax.pmap(lambda w, x: w - jax.lax.pmean(x.mean(0), "a"), axis_name="a")
p_b = jax.pmap(lambda w: w * 2)
p_c = jax.pmap(lambda w, x: (w + jax.lax.axis_index("c"), jax.lax.psum(x.sum(), "c")), axis_name="c")
w = jax_utils.replicate(jnp.ones(3))
batch = shard(BATCH)
w = p_b(p_a(w, batch))
apart, total = p_c(w, batch)
w = p_a(w, batch)
RESULT = [w[0], apart, total[0], p_b(apart)]
