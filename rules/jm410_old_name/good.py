import jax
from jax.sharding import Mesh

try:
    tree_map = jax.tree.map
except AttributeError:
    tree_map = jax.tree_map


def doubled(tree, key: jax.Array):
    return tree_map(lambda x: 2 * x, tree), Mesh(jax.devices(), ("i",)), key
