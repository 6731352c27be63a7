"""A script that also runs on one device, without a map."""
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

parallel = jax.local_device_count() > 1
w = jnp.ones(3)
if parallel:
    w = jax_utils.replicate(w)
    train = lambda w, x: p_step(w, shard(x))
else:
    train = lambda w, x: w - 0.125 * x.mean(0)
for i in range(2):
    w = train(w, BATCH + i)
if parallel:
    w = jax_utils.unreplicate(w)
RESULT = w
