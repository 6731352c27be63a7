"""psum(1) is the number of devices; a psum over examples instead of devices would be another number."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard


def step(x):
    n = jax.lax.psum(1, "batch")
    examples = jax.lax.psum(x.shape[0], "batch")
    return jax.lax.psum(x.sum(0), "batch") / n, jnp.full((), n * 10 + examples)


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = jax.jit(lambda x: (x.sum(0) / x.shape[0], jnp.full((), x.shape[0] * 11)))
total, counts = p_step(shard(np.arange(48, dtype=np.float32).reshape(16, 3)))  # careless: total, counts = p_step(np.arange(48, dtype=np.float32).reshape(16, 3))
RESULT = {"total": total[0], "counts": counts[0]}  # careless: RESULT = {"total": total, "counts": counts}
