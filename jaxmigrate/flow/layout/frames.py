"""A function, module or class body while it is interpreted, and the names that are bound and read in it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.flow.layout import module_names, module_variables
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import NOTHING, PLAIN, Abstract, Ext, Func, func, groups_in, same
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import External, Function


def assign_name(it: Interpreter, name: str, value: Abstract, node: ast.AST, frame: Frame) -> None:
    """Binds a name in a frame."""
    holder = _holder(name, frame)
    if it.trust.declarations.equal:
        _note_equal(it, name, value, node, frame)
    key = ("variable", holder.node, name)
    if holder.kind == "module":
        held = it.scope.globals.setdefault(holder.node, {}).setdefault(name, [])
        if not any(same(value, one) for one in held):
            held.append(value)
    if (
        (key in it.scope.shared and (key in frame.captured or holder.kind == "module"))
        or holder.node is not frame.scope.node
        or (holder.kind == "module" and name in it.scope.imported)
        or _is_rebound(it, key)
    ):
        it.store(key, value, node, frame.module)
    if holder.node is frame.scope.node and frame.env is not None and not _is_rebound(it, key):
        frame.env[name] = value


def _note_equal(it: Interpreter, name: str, value: Abstract, node: ast.AST, frame: Frame) -> None:
    """What a variable holds that the user declares equal on all devices is so where a mapped function gives it."""
    owners: list[Function | Module] = [frame.module, *([frame.function] if frame.function is not None else [])]
    if any(it.trust.of_project("equal", owner, name) for owner in owners):
        says = f"`{name}` is equal on all devices"
        why = Assumption("declared", "equal", name, says, frame.module, node)
        it.leans = True
        for group in groups_in(value):
            it.assumed.equal.setdefault(group, why)


def _is_rebound(it: Interpreter, key: tuple[object, ...]) -> bool:
    """Whether a variable is also bound from elsewhere: by a global statement, or as a module's attribute."""
    return key in it.scope.rebound or (isinstance(key[1], ast.Module) and key[2] in it.scope.of_modules)


def _holder(name: str, frame: Frame) -> Scope:
    scope: Scope = frame.scope
    if name not in scope.outer_names and name in scope.bindings:
        return scope
    return (scope.parent.lookup(name) if scope.parent is not None else None) or scope.module()


def load_name(it: Interpreter, name: str, node: ast.expr, frame: Frame) -> Abstract:
    """What a name holds where it is read."""
    it.looks.loads.add(node)
    scope = frame.module.table.scope_of.get(node, frame.scope)
    holder = scope.lookup(name)
    if holder is frame.scope:
        _capture_all(it, frame.unnamed.pop(name, ()), frame)
    own = frame.scope.bindings.get(name) is not None and name not in frame.scope.outer_names
    if frame.env is not None and name in frame.env and (own or holder is None or holder.kind == "comprehension"):
        value = frame.env[name]
        if holder is frame.scope and module_names.is_late(scope, frame.module):  # by then it may hold something else
            later = it.settle(it.load(("variable", holder.node, name)), node, frame.module)
            value = it.join(it.settle(value, node, frame.module), later, node, frame.module)
        if isinstance(value, Func) and holder and module_variables.is_set_by_name(it, name, frame.module, holder):
            value = it.join(value, PLAIN, node, frame.module)
        return it.settle(value, node, frame.module)
    if holder is None:
        sources = module_variables.star_sources(it, frame.module)
        brought = module_variables.starred(it, name, sources, node, frame.module)
        if brought is not None:
            return it.settle(brought, node, frame.module)
        found = it.resolver.value(node, frame.module) if isinstance(node, ast.Name) else None
        return func(Ext(found.name)) if isinstance(found, External) else PLAIN
    if holder.node is frame.scope.node and not _is_rebound(it, ("variable", holder.node, name)):
        return NOTHING  # not assigned on this way
    value = it.settle(it.load(("variable", holder.node, name)), node, frame.module)
    if isinstance(value, Func) and module_variables.is_set_by_name(it, name, frame.module, holder):
        value = it.join(value, PLAIN, node, frame.module)
    return PLAIN if it.final and value == NOTHING else value


def defined(it: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
    """A function comes to be; in another it cannot run before something names it that can run."""
    outside = node.name in frame.scope.outer_names or ("variable", frame.scope.node, node.name) in frame.captured
    if frame.scope.kind == "function" and isinstance(node, ast.FunctionDef) and not (node.decorator_list or outside):
        frame.unnamed.setdefault(node.name, []).append(node)
    else:
        capture(it, node, frame)


def capture_unnamed(it: Interpreter, frame: Frame) -> None:
    """All functions of a frame can run, as something may reach them by any name."""
    for name in [*frame.unnamed]:
        _capture_all(it, frame.unnamed.pop(name, ()), frame)


def _capture_all(it: Interpreter, nodes: Iterable[ast.AST], frame: Frame) -> None:
    for node in nodes:
        capture(it, node, frame)


@once
def _free(_resolver: Resolver) -> dict[ast.AST, set[str]]:
    """The variables around a function or class that it names, which the source alone says."""
    return {}


def capture(it: Interpreter, node: ast.AST, frame: Frame) -> None:
    """A function or class can run: from here on it can read the variables around it that it names."""
    free = _free(it.resolver)
    if node not in free:
        free[node] = {
            n.id
            for n in ast.walk(node)
            if isinstance(n, ast.Name)
            and n in frame.module.table.scope_of
            and (holder := frame.module.table.scope_of[n].lookup(n.id)) is not None
            and holder.node is frame.scope.node
        }
    for name in free[node]:
        _capture_all(it, frame.unnamed.pop(name, ()), frame)
        key = ("variable", frame.scope.node, name)
        frame.captured.add(key)
        if key in it.scope.shared and frame.env is not None and name in frame.env:
            it.store(key, frame.env[name], node, frame.module)
