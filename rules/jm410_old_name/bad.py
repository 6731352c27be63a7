import jax
from jax.experimental.maps import Mesh  # JM410
from jax.random import KeyArray  # JM410


def doubled(tree, key: KeyArray):
    return jax.tree_map(lambda x: 2 * x, tree), Mesh(jax.devices(), ("i",)), key  # JM410
