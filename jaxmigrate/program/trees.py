"""The functions of JAX that take trees of arrays apart and put them together, under all the names they have had."""

from __future__ import annotations

TREE_MAPS = frozenset(
    {
        "jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map", "jax.tree_multimap", "jax.tree_util.tree_multimap",
        "optax.tree_utils.tree_map", "optax.tree.map",
    }
)  # fmt: skip
PATH_MAPS = frozenset(
    {"jax.tree.map_with_path", "jax.tree_util.tree_map_with_path", "flax.traverse_util.path_aware_map"}
)
TREE_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_leaves", "jax.tree_util.tree_leaves"})
TREE_FLATTEN = frozenset({"jax.tree.flatten", "jax.tree_flatten", "jax.tree_util.tree_flatten"})
TREE_UNFLATTEN = frozenset({"jax.tree.unflatten", "jax.tree_unflatten", "jax.tree_util.tree_unflatten"})
TREE_REDUCE = frozenset({"jax.tree.reduce", "jax.tree_reduce", "jax.tree_util.tree_reduce", "functools.reduce"})
