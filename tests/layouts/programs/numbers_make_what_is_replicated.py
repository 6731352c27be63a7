"""Maps of the devices' numbers give what is the same on all devices, what differs, and what ends up on one."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()


def main():
    same = jax.pmap(lambda _: jnp.arange(3.0) + 1)(jnp.arange(N))
    own = jax.pmap(lambda i: jnp.arange(3.0) + i)(jnp.arange(N))
    total = jax.pmap(lambda i: jax.lax.psum(i, "i"), axis_name="i")(np.arange(N))
    key = jax.random.PRNGKey(0)
    drawn = jax.pmap(lambda i: jax.random.normal(jax.random.fold_in(key, i), (2,)))(jnp.arange(N))
    largest = jax.pmap(lambda i: jnp.where(i == jax.lax.pmax(i, "i"), i, 0), axis_name="i")(jnp.arange(N))
    return [jax_utils.unreplicate(x) for x in (same, total)] + [own, drawn, jax_utils.unreplicate(largest), largest.sum()]


RESULT = [np.asarray(x) for x in main()]
