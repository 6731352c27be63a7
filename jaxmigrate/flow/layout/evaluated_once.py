"""Code that a program runs once, as far as its calls tell: what it evaluates there is one value for the whole run."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Class, Function, ModuleValue, Values

DEEPEST = 5  # functions that are called in functions
LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
Def = ast.FunctionDef | ast.AsyncFunctionDef


def is_run_once(node: ast.AST, module: Module, resolver: Resolver, depth: int = DEEPEST) -> bool:
    """Whether what stands at a place is evaluated at most once: in no loop, and in functions of one call each.

    A method counts as run once where one object of its class is made.
    """
    child, current = node, module.table.parents.get(node)
    if isinstance(node, Def):
        return _is_called_once(node, module, resolver, depth)
    while current is not None:
        if isinstance(current, LOOPS) and child is not getattr(current, "iter", None):
            return False
        if isinstance(current, Def) and child in current.body:
            return _is_called_once(current, module, resolver, depth)
        child, current = current, module.table.parents.get(current)
    return True


def _is_called_once(function: Def, module: Module, resolver: Resolver, depth: int) -> bool:
    if depth <= 0:
        return False
    above = module.table.parents.get(function)
    if isinstance(above, ast.ClassDef):
        return _is_called_once_by(above, resolver, depth) and not above.decorator_list
    return not function.decorator_list and _is_called_once_by(function, resolver, depth)


def _is_called_once_by(definition: Def | ast.ClassDef, resolver: Resolver, depth: int) -> bool:
    """Whether one call alone mentions a definition, and is run once; it may pass it on, as `app.run(main)` does."""
    found = [
        (one, module)
        for module in resolver.project.program
        for one in module.table.named.get(definition.name, ())
        if _may_be(one, module, definition, resolver)
    ]
    if len(found) != 1:
        return False
    node, module = found[0]
    return isinstance(module.table.parents.get(node), ast.Call) and is_run_once(node, module, resolver, depth - 1)


def _may_be(node: ast.expr, module: Module, definition: ast.AST, resolver: Resolver) -> bool:
    values = resolver.values(node, module)
    found = [one for one in values if isinstance(one, Function | Class)]
    return (len(found) < max(len(values), 1) and not _is_module(values)) or any(one.node is definition for one in found)


def _is_module(values: Values) -> bool:
    return bool(values) and all(isinstance(one, ModuleValue) for one in values)
