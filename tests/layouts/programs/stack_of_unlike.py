"""A stack whose entries are not one and the same."""
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
rows = [jnp.full(3, float(i)) for i in range(n)]
same = [jnp.ones(3) for _ in range(n)]
fresh = [jax.random.normal(jax.random.PRNGKey(i), (3,)) for i in range(n)]
base = [np.ones(3, np.float32)] * n
base[2] = np.zeros(3, np.float32)
RESULT = [p_step(jnp.stack(r), shard(BATCH)) for r in (rows, same, fresh, base)]
