"""jnp.array([x] * n) gives a weakly typed array a dtype of its own, which bfloat16 then does not win against."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

n = jax.local_device_count()
x = jnp.asarray(np.random.RandomState(0).normal(size=(16, 3)), jnp.bfloat16)


def step(w, x):
    return w - 0.1 * jax.lax.pmean((x * w).mean(), "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
w = jnp.array([jnp.full((), 0.3)] * n)  # careless: w = jnp.full((), 0.3)
v = jnp.asarray(np.stack([jnp.full((), 0.3)] * n))  # careless: v = jnp.full((), 0.3)
batch = shard(x)  # careless: batch = x
w, v = p_step(w, batch), p_step(v, batch)
RESULT = [w[0], v[0]]  # careless: RESULT = [w, v]
