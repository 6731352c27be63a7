"""Tiles of one row more than an array has axes are slices of an array with another axis than its own."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

N = jax.local_device_count()
BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def draw(key, x):
    own = jax.vmap(lambda k: jax.random.normal(k, (3,)))(key) if key.ndim else jax.random.normal(key, (3,)) * 2
    return jax.lax.pmean((x + own.sum(0)).sum(0), "i")


def scaled(rate, x):
    return jax.lax.pmean((x * rate).sum(), "i") + rate


p_draw = jax.pmap(draw, axis_name="i")
p_scaled = jax.pmap(scaled, axis_name="i")
typed = jax.random.key(3)
first, second = jax.random.split(typed)
pairs = jax.random.split(jax.random.PRNGKey(2), (2, 1))
rate = jnp.asarray(0.5)


def main():
    found = [p_draw(jnp.tile(first[None], (N, 1)), shard(BATCH))[0]]  # careless: found = [p_draw(jnp.stack([first] * N), shard(BATCH))[0]]
    found.append(p_draw(jnp.tile(second[None], (N, 1)), shard(BATCH))[0])
    found.append(p_scaled(jnp.tile(rate[None], (N, 1)), shard(BATCH))[0])
    found.append(p_draw(jnp.tile(pairs[0][0][None, None], (N, 1, 1)), shard(BATCH))[0])
    return found


RESULT = [np.asarray(x) for x in main()]
