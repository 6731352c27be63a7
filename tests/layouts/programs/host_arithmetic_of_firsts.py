"""What was taken from device 0 is changed on the host and put back next to what was not."""
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

def body(w, m, x):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")
    m = 0.5 * m + grad
    return w - 0.125 * m, m


p_body = jax.pmap(body, axis_name="batch", donate_argnums=(0, 1))
w, m = jax_utils.replicate((jnp.ones(3), jnp.zeros(3)))
for i in range(3):
    w, m = p_body(w, m, shard(BATCH + i))
    if i == 1:
        host = jax.device_get(jax_utils.unreplicate(w))
        host = host / np.linalg.norm(host)
        w = jax_utils.replicate(jnp.asarray(host))
        m = jax.tree.map(jnp.zeros_like, m)
RESULT = [w[0], m[0]]
