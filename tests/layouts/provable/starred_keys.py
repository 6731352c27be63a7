"""Keys for all devices in a list, beside the next one of the host, as many trainers split them."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x, key):
    noise = jax.random.normal(key, w.shape)
    grad = jax.grad(lambda w: jnp.mean((x @ (w + noise) - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


def noise(key):
    return jax.lax.psum(jax.random.normal(key, (2,)), "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split, stacked -> replicated
p_noise = jax.pmap(noise, axis_name="batch")  # expect: stacked -> replicated
rng = jax.random.PRNGKey(0)
w = jax_utils.replicate(jnp.ones(3))
total = 0.0
for _ in range(3):
    rng, *keys = jax.random.split(rng, num=jax.local_device_count() + 1)
    keys = jnp.asarray(keys)
    w = p_step(w, shard(BATCH), keys)
    rng, other, *more = jax.random.split(rng, 2 + jax.local_device_count())
    total += p_noise(jnp.stack(more))[0].sum() + jax.random.normal(other)
RESULT = [w[0], total]
