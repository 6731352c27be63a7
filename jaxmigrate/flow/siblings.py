"""The values that a function returns together, with the names by which it returns them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.flow.variance import AbstractValue
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trees import TREE_MAP_NAMES
from jaxmigrate.program.values import Function

DEEPEST = 4


class Leaf(NamedTuple):
    """A part of what a function returns: where it stands in that, and its name; empty where it has none."""

    path: tuple[int | str, ...]
    name: str
    value: AbstractValue


def leaves(value: AbstractValue, function: Function) -> Iterator[Leaf]:
    """The parts of a returned value."""
    returns = [one for one in returned_by(function.node) if one is not None]
    node = _whole(returns[0], function) if len(returns) == 1 else None
    yield from _leaves(value, node, (), "")


def _whole(node: ast.expr, function: Function) -> ast.expr:
    """What is returned, or what an axis is put in front of before it is."""
    if isinstance(node, ast.Call) and last_name(node.func) in TREE_MAP_NAMES and len(node.args) == 2:
        node = node.args[1]
        above = nearest(node, function.module) if isinstance(node, ast.Name) else None
        if above is not None and above.value is not None and not above.path:
            return above.value
    return node


def _leaves(value: AbstractValue, node: ast.expr | None, path: tuple[int | str, ...], name: str) -> Iterator[Leaf]:
    name = last_name(node) if isinstance(node, ast.Name | ast.Attribute) else name
    if len(path) < DEEPEST and value.parts:
        for number, part in enumerate(value.parts):
            inner = node.elts[number] if isinstance(node, ast.Tuple) and number < len(node.elts) else None
            yield from _leaves(part, inner, (*path, number), name)
    elif len(path) < DEEPEST and value.fields:
        named = _entries(node) if isinstance(node, ast.Dict) else {}
        for key, part in value.fields.items():
            yield from _leaves(part, named.get(key), (*path, key), key if key != "*" else name)
    else:
        yield Leaf(path, name, value)


def _entries(node: ast.Dict) -> dict[str, ast.expr]:
    return {
        str(key.value): value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and not isinstance(value, ast.Name | ast.Attribute)
    }
