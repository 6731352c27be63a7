"""A key that is split in two, then for devices, under one name."""
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

rng = jax.random.PRNGKey(0)
rng, init = jax.random.split(rng)
w = jax_utils.replicate(jax.random.normal(init, (3,)))
rng = jax.random.split(rng, jax.local_device_count())


def noisy(rng, w, x):
    rng, sub = jax.random.split(rng)
    return rng, step(w, x + jax.random.normal(sub, x.shape))


p_noisy = jax.pmap(noisy, axis_name="batch")
for _ in range(2):
    rng, w = p_noisy(rng, w, shard(BATCH))
rng = rng[0]
RESULT = {"w": w[0], "rng": jax.random.uniform(rng)}
