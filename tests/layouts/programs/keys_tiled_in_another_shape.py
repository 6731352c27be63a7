"""Tiles of keys that are no copies for each device: along another axis, in another shape, of one axis more."""

import jax
import jax.numpy as jnp
import numpy as np

COUNT = jax.local_device_count()
SHAPE = (4, 1)


def drawn(keys):
    each = keys.reshape(-1, 2)
    return jax.lax.psum(jax.vmap(lambda k: jax.random.normal(k, (3,)))(each).sum(0), "i") * keys.ndim


p_drawn = jax.pmap(drawn, "i")
key = jax.random.PRNGKey(0)
two = jax.random.split(key)
shaped = jax.random.split(key, SHAPE)
one_row = jax.random.split(key, 1)
RESULT = [np.asarray(p_drawn(jnp.tile(key, (COUNT, 1, 1)))[0]), np.asarray(p_drawn(jnp.tile(shaped, (2, 1, 1)))[0])]
RESULT += [np.asarray(p_drawn(jnp.tile(one_row, (COUNT, 1)))[0]), np.asarray(p_drawn(jnp.tile(key[None], (COUNT, 1, 1)))[0])]
RESULT += [np.asarray(p_drawn(jnp.tile(key, (COUNT, 2)))[0])]
