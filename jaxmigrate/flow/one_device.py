"""Maps of which the calls show that they run on one device: `p_step(x[None, ...], state)`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow.readings import DeviceMap, unmapped
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name


def runs_on_one(found: DeviceMap, given: Sequence[tuple[ast.expr, Module, int]], resolver: Resolver) -> bool:
    """Whether each call of a pmap gives it one slice of something."""
    shared = unmapped(found, resolver) if found.name in PMAPS and given else None
    if shared is None:
        return False
    calls: dict[ast.AST | None, bool] = {}
    for node, module, number in given:
        call = _call(node, module)
        calls[call] = calls.get(call, False) or (number not in shared and _is_one_row(resolver.assigned(node, module)))
    return all(calls.values())


def _call(node: ast.expr, module: Module) -> ast.AST | None:
    above = module.table.parents.get(node)
    return module.table.parents.get(above) if isinstance(above, ast.keyword) else above


def _is_one_row(node: ast.expr) -> bool:
    """Whether an expression puts an axis of length one in front of something."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=None) | ast.Tuple(elts=[ast.Constant(value=None), *_])):
            return True
        case ast.Subscript(slice=index):
            first = next(iter(index.elts), index) if isinstance(index, ast.Tuple) else index
            return isinstance(first, ast.Attribute | ast.Name) and last_name(first) == "newaxis"
        case ast.Call(args=[_, ast.Constant(value=0)], func=function):
            return last_name(function) == "expand_dims"
    return False
