"""Modules that code reaches as values: by `sys.modules`, which may be its own, or as they are passed on."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, blocker_at
from jaxmigrate.flow.layout.values import (
    Abstract,
    Blocker,
    Bound,
    Func,
    MethodSite,
    Mixed,
    Mod,
    Padded,
    Site,
    Tup,
    is_tracked,
)
from jaxmigrate.program.combined import canonical
from jaxmigrate.program.modules import Module, import_name

LOOKS = frozenset({"builtins.getattr", "builtins.hasattr"})
LATER = ast.GeneratorExp | ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef


def read(it: Interpreter, node: ast.Attribute, frame: Frame) -> None:
    """What code gets through `sys.modules` it may call, read or change: an attribute of its own module by name."""
    why = blocker_at(Stacked.REACHABLE.reason("may be read or changed through sys.modules"), node, frame)
    held = [*(frame.env or {}).values()]
    of_its_own = _is_of_its_own(node, frame.module) and not any(map(_holds_module, held))
    if of_its_own and _looks_at_once(it, node, frame):
        for value in held:
            it.block(value, why)
        return
    it.blockers.loaded[node] = (frame.module if of_its_own else None, why)


def imported(it: Interpreter, name: str, alias: ast.alias, frame: Frame) -> None:
    """What is imported under a name that is none of another module of the project: perhaps the module itself.

    Who has `sys.modules` or `__main__`, as in `from sys import modules`, may use them anywhere.
    """
    first, own = name.partition(".")[0], frame.module
    if first == "__main__" or canonical(name) == "sys.modules":
        said = "sys.modules" if first == "sys" else first
        why = blocker_at(Stacked.REACHABLE.reason(f"may be read or changed through {said}"), alias, frame)
        it.blockers.loaded[alias] = (None, why)
    elif first == import_name(own.path):
        why = blocker_at(Stacked.REACHABLE.reason("may be read or changed through its own module"), alias, frame)
        it.blockers.loaded[alias] = (own, why)


def sweep(it: Interpreter) -> None:
    """Blocks the variables of modules that code reaches by computed names, and what is mapped among them."""
    for own, why in [*it.blockers.loaded.values(), *it.blockers.modules.items()]:
        only = own if own is not None and not _keeps_modules(it, own) else None
        held = [(key[1], value) for key, value in it.variables.items() if key[0] == "variable"]
        held += [(tree, one) for tree, names in it.scope.globals.items() for values in names.values() for one in values]
        for tree, value in held:
            if isinstance(tree, ast.Module) and (only is None or only.tree is tree):
                _let_go(it, value, why)


def _is_of_its_own(node: ast.Attribute, module: Module) -> bool:
    """Whether this is `sys.modules[__name__]`."""
    index = module.table.parents.get(node)
    match index:
        case ast.Subscript(value=value, slice=ast.Name(id="__name__"), ctx=ast.Load()) if value is node:
            return "__name__" not in module.table.root.bindings
    return False


def _looks_at_once(it: Interpreter, node: ast.Attribute, frame: Frame) -> bool:
    """Whether a statement of the module itself takes an attribute by a name: what is bound later it cannot get."""
    parents = frame.module.table.parents
    index = parents[node]
    call = parents.get(index)
    looks = isinstance(call, ast.Call) and call.args[:1] == [index] and it.idioms.called(call, frame.module) in LOOKS
    above: ast.AST | None = call
    while looks and above is not None and not isinstance(above, LATER):
        above = parents.get(above)
    return looks and above is None and frame.scope.kind == "module" and frame.env is not None


def _keeps_modules(it: Interpreter, module: Module) -> bool:
    """Whether a module has another one of the project among its variables, whose attributes can be reached as well."""
    return any(_holds_module(one) for held in it.scope.globals.get(module.tree, {}).values() for one in held)


def _holds_module(value: Abstract) -> bool:
    match value:
        case Func(items=items):
            return any(isinstance(item, Mod) for item in items)
        case Tup(parts=parts) | Mixed(values=parts):
            return any(map(_holds_module, parts))
    return False


def _let_go(it: Interpreter, value: Abstract, why: Blocker) -> None:
    """Keeps arrays and maps as they are; functions of the project may be called with anything anyway."""
    match value:
        case Func(items=items):
            for item in items:
                if isinstance(item, Site | MethodSite | Bound | Padded):
                    it.escape(item, why)
        case Tup(parts=parts) | Mixed(values=parts):
            for part in parts:
                _let_go(it, part, why)
        case _ if is_tracked(value):
            it.block(value, why)
