"""What is the same at first drifts because it is fed with another output."""
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

def body(a, b, c, x):
    return a + jax.lax.pmean(x.mean(), "batch"), b + a * c.mean(), c + x.mean(0)


p_body = jax.pmap(body, axis_name="batch")
a, b, c = jax_utils.replicate((jnp.ones(()), jnp.zeros(()), jnp.zeros(3)))
for i in range(3):
    a, b, c = p_body(a, b, c, shard(BATCH))
RESULT = [a[0], b, c, a.sum()]
