"""Keys folded on the host over devices, by vmap and by a loop."""
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

n = jax.local_device_count()
base = jax.random.PRNGKey(0)
folded = jax.vmap(lambda i: jax.random.fold_in(base, i))(jnp.arange(n))
listed = jnp.stack([jax.random.fold_in(base, i) for i in range(n)])
p_draw = jax.pmap(lambda k: jax.random.normal(k, (2,)))
RESULT = [p_draw(folded), p_draw(listed), p_draw(folded)[0]]
