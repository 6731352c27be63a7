"""Numbers that only look like those of the devices: from one on, of other things, twice as far apart."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()


def half(i, x):
    return jax.lax.psum(i * x, "i"), i


p_half = jax.pmap(half, axis_name="i")


def main():
    found = []
    for numbers in (jnp.arange(1, N + 1), jnp.arange(N * 2, step=2), np.arange(N, 0, -1), jnp.arange(16)[::2]):
        total, own = p_half(numbers, jnp.arange(float(N)))
        found += [jax_utils.unreplicate(total), own]
    few, _ = p_half(jnp.arange(N // 2), jnp.arange(N // 2))
    return [*found, few]


RESULT = [np.asarray(x) for x in main()]
