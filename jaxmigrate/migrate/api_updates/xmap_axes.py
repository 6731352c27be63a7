"""What the axes of an `xmap` say: where each named axis stands in each array, and by what of the mesh it is split."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from jaxmigrate.migrate.api_updates.calls import given

Leaf: TypeAlias = Mapping[int, str]  # the name of each mapped dimension of an array
Tree: TypeAlias = "Leaf | tuple[Tree, ...] | Branches"
KEYWORDS = {"fun", "in_axes", "out_axes", "axis_sizes", "axis_resources", "donate_argnums"}


class Branches(NamedTuple):
    """A dictionary of arrays, or of trees of them."""

    trees: Mapping[str, Tree]


class Axes(NamedTuple):
    """The axes of one `xmap`.

    Attributes:
        function: What it maps.
        ins: Where the axes stand in the arguments: a tree of which a leaf may stand for all arrays below it.
        outs: The same of the outputs.
        names: The named axes, in the order in which the arguments bring them.
        resources: The axes of the mesh that a named axis is split by; none for one that stays on each device.
        sizes: The expressions for the sizes of axes that no argument has.
    """

    function: ast.expr
    ins: Tree
    outs: Tree
    names: tuple[str, ...]
    resources: Mapping[str, tuple[str, ...]]
    sizes: Mapping[str, ast.expr]

    def spec_axes(self, leaf: Leaf) -> list[tuple[str, ...]]:
        """The axes of the mesh by which each dimension of an array is split, up to the last that is."""
        split = {place: self.resources[name] for place, name in leaf.items() if self.resources.get(name)}
        return [split.get(place, ()) for place in range(max(split, default=-1) + 1)]


def axes_of(call: ast.Call) -> Axes | None:
    """Reads a call of `xmap` that writes its axes out; None where it does not, or gives what nothing replaces."""
    if len(call.args) > 3 or any(k.arg not in KEYWORDS for k in call.keywords) or _has_star(call):
        return None
    function, ins, outs = given(call, "fun", 0), given(call, "in_axes", 1), given(call, "out_axes", 2)
    if function is None or ins is None or outs is None:
        return None
    try:
        trees = _tree(ast.literal_eval(ins)), _tree(ast.literal_eval(outs))
        resources = _resources(given(call, "axis_resources"))
    except (ValueError, TypeError):
        return None
    names = tuple(dict.fromkeys(name for leaf in _leaves(trees[0]) for name in leaf.values()))
    sizes = _sizes(given(call, "axis_sizes"))
    if sizes is None:
        return None
    added = tuple(name for name in sizes if name not in names)
    if any(resources.get(name) for name in added):
        return None  # a value out of the arguments may be another one on each process: vmap would not exchange it
    names += added
    used = [axis for name in names for axis in resources.get(name, ())]
    known = {name for leaf in _leaves(trees[1]) for name in leaf.values()} | set(resources)
    if not names or len(set(used)) < len(used) or not known <= set(names):
        return None
    return Axes(function, *trees, names, resources, sizes)


def positions(tree: Tree, name: str, inside: Iterable[str]) -> object:
    """Where an axis stands in each array, the axes of `inside` not yet mapped: the `in_axes` of its `vmap`."""
    if isinstance(tree, Branches):
        return {key: positions(below, name, inside) for key, below in tree.trees.items()}
    if isinstance(tree, tuple):
        return tuple(positions(below, name, inside) for below in tree)
    place = next((place for place, found in tree.items() if found == name), None)
    here = {name, *inside}
    return place if place is None else place - sum(p < place and n not in here for p, n in tree.items())


def _has_star(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in call.args)


def _tree(value: object) -> Tree:
    """The leaves of `in_axes` or `out_axes`; ValueError for one that xmap itself would refuse."""
    if isinstance(value, dict) and all(isinstance(place, int) for place in value):
        return _leaf(value)
    if isinstance(value, dict):
        return Branches({_word(key): _tree(below) for key, below in value.items()})
    if not isinstance(value, list | tuple):
        raise TypeError(value)
    if all(one is None or one is ... or isinstance(one, str) for one in value):
        names = value[:-1] if value and value[-1] is ... else value
        return _leaf({place: name for place, name in enumerate(names) if name is not None})
    return tuple(_tree(below) for below in value)


def _leaf(found: Mapping[int, object]) -> Leaf:
    leaf = {place: _word(name) for place, name in found.items()}
    if any(place < 0 for place in leaf) or len(set(leaf.values())) < len(leaf):
        raise ValueError(found)
    return leaf


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _leaves(tree: Tree) -> list[Leaf]:
    if isinstance(tree, Branches | tuple):
        below = tree.trees.values() if isinstance(tree, Branches) else tree
        return [leaf for one in below for leaf in _leaves(one)]
    return [tree]


def _resources(node: ast.expr | None) -> dict[str, tuple[str, ...]]:
    value = ast.literal_eval(node) if node is not None else {}
    if not isinstance(value, dict):
        raise TypeError(value)
    return {_word(name): tuple(map(_word, r if isinstance(r, tuple) else (r,))) for name, r in value.items()}


def _sizes(node: ast.expr | None) -> dict[str, ast.expr] | None:
    if node is None:
        return {}
    if not isinstance(node, ast.Dict):
        return None
    pairs = list(zip(node.keys, node.values, strict=True))
    if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key, _ in pairs):
        return None
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
