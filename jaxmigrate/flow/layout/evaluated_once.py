"""Code that a program runs once, as far as its calls tell: what it evaluates there is one value for the whole run."""

from __future__ import annotations

import ast

from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Class, External, Function, ModuleValue, Values

RUNS_MAIN = named("runs-main")
DEEPEST = 5  # functions that are called in functions
LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
Def = ast.FunctionDef | ast.AsyncFunctionDef


def is_run_once(node: ast.AST, module: Module, resolver: Resolver, depth: int = DEEPEST) -> bool:
    """Whether what stands at a place is evaluated at most once: in no loop, and in functions of one call each.

    A constructor counts as run once where one object of its class is made, a method where one call has its name.
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
        made = _is_called_once_by(above, resolver, depth) and not above.decorator_list
        return made and (function.name == "__init__" or _is_method_called_once(function.name, resolver, depth))
    return not function.decorator_list and _is_called_once_by(function, resolver, depth)


def _is_called_once_by(definition: Def | ast.ClassDef, resolver: Resolver, depth: int) -> bool:
    """Whether one call alone is of a definition, and is run once; `app.run(main)` is such a call as well."""
    found = [
        (one, module)
        for module in resolver.project.program
        for one in module.table.named.get(definition.name, ())
        if _may_be(one, module, definition, resolver)
    ]
    if len(found) != 1:
        return False
    return _is_call_run_once(*found[0], resolver, depth)


def _is_call_run_once(node: ast.expr, module: Module, resolver: Resolver, depth: int) -> bool:
    """Whether what stands at a place is called there, or by what runs a program's main function, and that once."""
    call = module.table.parents.get(node)
    if not isinstance(call, ast.Call):
        return False
    runs = resolver.value(call.func, module)
    runs_main = isinstance(runs, External) and runs.name in RUNS_MAIN and call.args[:1] == [node]
    return (call.func is node or runs_main) and is_run_once(node, module, resolver, depth - 1)


def _is_method_called_once(name: str, resolver: Resolver, depth: int) -> bool:
    """Whether one call alone of a program has the name of a method, and nothing asks for methods by names."""
    found = [
        (node, module)
        for module in resolver.project.program
        if name in module.text or "getattr" in module.text
        for node in module.nodes
        if (isinstance(node, ast.Attribute) and node.attr == name)
        or (isinstance(node, ast.Name) and node.id == "getattr")
    ]
    node, module = found[0] if len(found) == 1 else (None, None)
    return isinstance(node, ast.Attribute) and module is not None and _is_call_run_once(node, module, resolver, depth)


def _may_be(node: ast.expr, module: Module, definition: ast.AST, resolver: Resolver) -> bool:
    values = resolver.values(node, module)
    found = [one for one in values if isinstance(one, Function | Class)]
    return (len(found) < max(len(values), 1) and not _is_module(values)) or any(one.node is definition for one in found)


def _is_module(values: Values) -> bool:
    return bool(values) and all(isinstance(one, ModuleValue) for one in values)
