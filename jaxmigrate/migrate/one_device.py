"""Arguments that are not mapped and lie on one device: pmap copied them to all, `jax.jit` refuses them.

A slice of a stacked array, and what was put on a device, is committed to it. Only a map that is seen to be given such
an array has its helper move it, since most are given numbers and keys, which lie nowhere in particular.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import cast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.values import Argument

MADE = re.compile(r"\b(?:unreplicate|get_first|device_put)\(|\blambda (\w+): \1\[0\]")


def is_given_one_device(site: MappedSite, in_axes: Argument, resolver: Resolver) -> bool:
    """Whether some call gives an array of one device for an argument whose axis is None."""
    axes = in_axes.expression
    if not isinstance(axes, ast.Tuple | ast.List | ast.Constant):
        return False
    elements = [axes] if isinstance(axes, ast.Constant) else axes.elts
    places = [i for i, axis in enumerate(elements) if isinstance(axis, ast.Constant) and axis.value is None]
    return any(True for _ in given_one_device(site, places, resolver))


def given_one_device(
    site: MappedSite, places: Collection[int], resolver: Resolver, changed: Collection[ast.AST] = ()
) -> Iterator[tuple[ast.expr, Module]]:
    """The arguments at some places that lie on one device; what is made of nodes that are `changed` no longer does."""
    name = _name_of(site)
    for call, module in _calls(resolver).get(name, ()) if places and name else ():
        if not any(isinstance(argument, ast.Starred) for argument in call.args):
            given = (call.args[i] for i in places if i < len(call.args))
            yield from ((node, module) for node in given if _lies_alone(node, module, changed))


def _name_of(site: MappedSite) -> str:
    """The name that a map is called by, or its last part; empty where it has none."""
    parents, node = site.module.table.parents, cast("ast.AST", site.node)
    while isinstance(parent := parents.get(node), ast.Call):
        node = parent
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
        return parent.name
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    return _last_part(target) if isinstance(target, ast.expr) else ""


def _calls(resolver: Resolver) -> dict[str, list[tuple[ast.Call, Module]]]:
    """All calls of a project by the last part of what they call."""
    known = cast("dict[str, list[tuple[ast.Call, Module]]]", resolver.remembered.setdefault("calls by name", {}))
    if not known:
        for module in resolver.project.named:
            for call in module.table.calls:
                known.setdefault(_last_part(call.func), []).append((call, module))
    return known


def _last_part(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _lies_alone(node: ast.expr, module: Module, changed: Collection[ast.AST]) -> bool:
    """Whether an expression, or what is assigned to the name that it is, takes one slice or puts it on a device."""
    values = (node, *_assigned(_last_part(node), module))
    return any(_takes_one(value, module) for value in values if not any(n in changed for n in ast.walk(value)))


def _takes_one(node: ast.expr, module: Module) -> bool:
    first = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0
    return first or MADE.search(module.segment(node)) is not None


def _assigned(name: str, module: Module) -> Iterator[ast.expr]:
    """What is assigned to a name, or an attribute of that name, anywhere in a module."""
    for node in module.nodes if name else ():
        if isinstance(node, ast.Assign) and any(_last_part(target) == name for target in node.targets):
            yield node.value
