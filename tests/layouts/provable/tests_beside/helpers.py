import jax
import jax.numpy as jnp


def replicate(tree):
    stacked = jax.tree_util.tree_map(lambda x: jnp.stack([x] * jax.local_device_count()), tree)
    return jax.tree_util.tree_map(jnp.asarray, stacked)


def split(x):
    return x.reshape((jax.local_device_count(), -1) + x.shape[1:])


def get_first(tree):
    return jax.tree_util.tree_map(lambda x: x[0], tree)
