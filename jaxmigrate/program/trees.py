"""The functions of JAX that take trees of arrays apart and put them together, under all the names they have had."""

from __future__ import annotations

from jaxmigrate.program.library import last_names, named

TREE_MAPS = named("tree-map")
ANY_TREE_MAPS = named("tree-map", "structure-map")  # dm-tree's too, for which classes that JAX takes apart are leaves
TREE_MAP_NAMES = last_names("tree-map", "structure-map")
PATH_MAPS = named("path-map")
TREE_LEAVES = named("tree-leaves")
TREE_FLATTEN = named("tree-flatten")
TREE_UNFLATTEN = named("tree-unflatten")
TREE_REDUCE = named("tree-reduce")
