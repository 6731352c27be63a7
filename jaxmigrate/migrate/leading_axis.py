"""Mapped functions to which a leading axis of size one makes no difference: they only reduce what they are given.

A function such as `lambda x: lax.pmean(x, "batch")` maps blocks of any shape to blocks of the same shape, so that it
runs on blocks with their mapped axis as it does on blocks without.
"""

from __future__ import annotations

import ast

from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import mapped_values
from jaxmigrate.program.values import External, Function


def keeps_leading_axis(plan: MapPlan, resolver: Resolver) -> bool:
    """Whether what a site maps may see its blocks with their mapped axis, where all of them have one."""
    if not all(array.drops and array.axis == 0 for array in plan.everything):
        return False
    found = mapped_values(plan.site, resolver)
    value = found[0] if len(found) == 1 else None
    return isinstance(value, Function) and _is_blind(value, resolver)


def _is_blind(function: Function, resolver: Resolver) -> bool:
    """Whether a function gives back its arguments, reduced over a mapped axis or not."""
    node, arguments = function.node, function.node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or function.receiver:
        return False
    if isinstance(node, ast.AsyncFunctionDef):
        return False
    if isinstance(node, ast.Lambda):
        body: ast.expr | None = node.body
    else:
        statements = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        last = statements[0] if len(statements) == 1 and not _is_generic(function) else None
        body = last.value if isinstance(last, ast.Return) else None
    names = frozenset(function.passed_names())
    return body is not None and _keeps(body, names, function.module, resolver)


def _is_generic(function: Function) -> bool:
    """Whether decorators may have made another function of it; that of the map itself has not."""
    return not isinstance(function.node, ast.Lambda) and len(function.node.decorator_list) > 1


def _keeps(value: ast.expr, names: frozenset[str], module: Module, resolver: Resolver) -> bool:
    """Whether an expression is one of some names or a tree of such, reduced over a mapped axis or not."""
    if isinstance(value, ast.Name):
        return value.id in names
    if isinstance(value, ast.Tuple | ast.List):
        return all(_keeps(element, names, module, resolver) for element in value.elts)
    if not isinstance(value, ast.Call) or not value.args or any(isinstance(a, ast.Starred) for a in value.args):
        return False
    callee = resolver.value(value.func, module)
    if isinstance(callee, External) and callee.name in named("reduction"):
        return _keeps(value.args[0], names, module, resolver)
    if not (isinstance(callee, External) and callee.name in named("tree-map")) or value.keywords:
        return False
    changed = resolver.value(value.args[0], module)
    trees = [_keeps(tree, names, module, resolver) for tree in value.args[1:]]
    return isinstance(changed, Function) and _is_blind(changed, resolver) and bool(trees) and all(trees)
