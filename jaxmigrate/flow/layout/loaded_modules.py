"""Modules that code reaches as values: by `sys.modules`, which may be its own, or as they are passed on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

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
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver

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
    known, variables = -1, dict[ast.AST, list[Abstract]]()
    for own, why in [*it.blockers.loaded.values(), *it.blockers.modules.items()]:
        if known != it.touches:
            known, variables = it.touches, _variables(it)
        only = {module.tree for module in _reached(it, own, variables)} if own is not None else None
        held = [value for tree, values in variables.items() if only is None or tree in only for value in values]
        for value in held:
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


def _variables(it: Interpreter) -> dict[ast.AST, list[Abstract]]:
    """What the variables of each module hold, by its tree."""
    found: dict[ast.AST, list[Abstract]] = {}
    for key, value in it.variables.items():
        if key[0] == "variable" and isinstance(key[1], ast.Module):
            found.setdefault(key[1], []).append(value)
    for tree, names in it.scope.globals.items():
        if isinstance(tree, ast.Module):
            found.setdefault(tree, []).extend(one for values in names.values() for one in values)
    return found


def _reached(it: Interpreter, module: Module, variables: Mapping[ast.AST, list[Abstract]]) -> set[Module]:
    """A module of the project, and those that are reached by attributes of it: what it imports, and in packages."""
    found, pending = {module}, [module]
    while pending:
        one = pending.pop()
        held = (inner for value in variables.get(one.tree, ()) for inner in _modules_in(value))
        for other in (*held, *_imported_by(one, it.resolver), *_within(one, it.resolver)):
            if other not in found:
                found.add(other)
                pending.append(other)
    return found


@once_each
def _imported_by(module: Module, resolver: Resolver) -> list[Module]:
    """The modules that a module's import statements may bind names to, those whose names it takes over included."""
    found: list[Module] = []
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            stars = any(alias.name == "*" for alias in node.names)
            names = [f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names if alias.name != "*"]
            dotted = [(name, node.level) for name in (*names, *([node.module or ""] if stars else []))]
        elif isinstance(node, ast.Import):
            dotted = [(one.name if one.asname else one.name.partition(".")[0], 0) for one in node.names]
        else:
            continue
        loaded = (resolver.project.imported(module, name, level) for name, level in dotted)
        found += [one for one in loaded if one is not None]
    return found


@once_each
def _within(module: Module, resolver: Resolver) -> list[Module]:
    """The modules of a package, which are attributes of it once they are loaded."""
    folder, program = module.path.parent, resolver.project.program
    return [one for one in program if folder in one.path.parents] if module.is_package else []


def _modules_in(value: Abstract) -> Iterator[Module]:
    match value:
        case Func(items=items):
            yield from (item.module for item in items if isinstance(item, Mod))
        case Tup(parts=parts) | Mixed(values=parts):
            for part in parts:
                yield from _modules_in(part)


def _holds_module(value: Abstract) -> bool:
    return any(True for _ in _modules_in(value))


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
