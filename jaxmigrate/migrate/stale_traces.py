"""Whether a mapped function reads what may be another thing when it is traced anew: `self.rate`, which code sets later.

pmap does not trace an equal function again, whatever has become of its object and of the variables that it reads.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.syntax import last_name

CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
CHANGING = frozenset({"add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"})
OF_OBJECT = "."  # before the names of attributes, others are variables of modules
Def = ast.FunctionDef | ast.AsyncFunctionDef


def reads_what_changes(mapped: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether what is mapped by its name reads attributes or variables of modules that are set again somewhere."""
    given = _given(mapped, module, resolver)
    if given is not None:
        return any(reads_what_changes(one, other, resolver) for one, other in given)
    return any(not _read_by(name, resolver).isdisjoint(_changed(resolver)) for name in _function_names(mapped, module))


def _function_names(mapped: ast.expr, module: Module) -> list[str]:
    """The names of the functions that an expression may be: `self.step`, or a variable that holds it."""
    if isinstance(mapped, ast.Attribute):
        return [mapped.attr]
    if not isinstance(mapped, ast.Name):
        return []
    scope = module.table.scope_of[mapped].lookup(mapped.id)
    values = [binding.value for binding in scope.bindings[mapped.id]] if scope is not None else []
    held = [last_name(value) for value in values if value is not None]
    return [mapped.id, *held, *(["__call__"] if any(isinstance(value, ast.Call) for value in values) else [])]


def _given(mapped: ast.expr, module: Module, resolver: Resolver) -> list[tuple[ast.expr, Module]] | None:
    """What calls in sight give twice for a parameter that is mapped; None for anything else."""
    scope = module.table.scope_of[mapped].lookup(mapped.id) if isinstance(mapped, ast.Name) else None
    if scope is None or not isinstance(mapped, ast.Name) or not isinstance(scope.node, Def):
        return None
    names = [one.arg for one in all_parameters(scope.node.args)]
    if mapped.id not in names or len(scope.bindings[mapped.id]) > 1:
        return None
    place = names.index(mapped.id) - (names[:1] == ["self"])
    found: list[tuple[ast.expr, Module]] = []
    for other in resolver.project.program:
        for node in other.table.named.get(scope.node.name, ()):
            call = other.table.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node:
                found += [(one.value, other) for one in call.keywords if one.arg == mapped.id]
                found += [(one, other) for one in call.args[place : place + 1]]
    said = Counter(ast.dump(one) for one, _ in found)
    functions = [pair for pair in found if isinstance(pair[0], ast.Name | ast.Attribute)]
    return [(one, other) for one, other in functions if said[ast.dump(one)] > 1 and last_name(one) != mapped.id]


@once_each
def _read_by(name: str, resolver: Resolver) -> frozenset[str]:
    """The attributes and the variables of modules that a function of a name reads, also by others that it calls."""
    functions = _functions(resolver)
    found: set[str] = set()
    pending = [name]
    while pending:
        for function, module in functions.get(pending.pop(), ()):
            fresh = {*_reads(function, module)} - found
            found |= fresh
            pending += {one.removeprefix(OF_OBJECT) for one in fresh} & functions.keys()
    return frozenset(found)


@once
def _functions(resolver: Resolver) -> dict[str, list[tuple[Def, Module]]]:
    """The functions of the program by name."""
    found: dict[str, list[tuple[Def, Module]]] = {}
    for module in resolver.project.program:
        for node in module.nodes:
            if isinstance(node, Def):
                found.setdefault(node.name, []).append((node, module))
    return found


def _reads(function: Def, module: Module) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Attribute(attr=attr, ctx=ast.Load()):
                yield OF_OBJECT + attr
            case ast.Name(id=name, ctx=ast.Load()) if _is_of_module(node, module):
                yield name


@once
def _changed(resolver: Resolver) -> frozenset[str]:
    """The names of attributes that code sets or changes outside of constructors, and of such variables of modules."""
    found: set[str] = set()
    for module in resolver.project.program:
        bindings = module.table.root.bindings
        found |= {name for name, places in bindings.items() if len(places) > 1}
        found |= {name for scope in module.table.own_scope.values() for name in scope.outer_names if name in bindings}
        for node in module.nodes:
            found |= {*_changes(node, module)}
    return frozenset(found)


def _changes(node: ast.AST, module: Module) -> Iterator[str]:
    match node:
        case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()):
            if not _is_made(node, module):
                yield OF_OBJECT + attr
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            yield from _held(value, module)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGING:
            yield from _held(value, module)
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(attr)), _]):
            yield OF_OBJECT + attr


def _held(value: ast.expr, module: Module) -> Iterator[str]:
    """The name of what is changed in place."""
    while isinstance(value, ast.Subscript):
        value = value.value
    if isinstance(value, ast.Attribute) and not _is_made(value, module):
        yield OF_OBJECT + value.attr
    elif isinstance(value, ast.Name) and _is_of_module(value, module):
        yield value.id


def _is_made(node: ast.AST, module: Module) -> bool:
    return getattr(module.table.function_of(node), "name", "") in CONSTRUCTORS


def _is_of_module(name: ast.Name, module: Module) -> bool:
    scope = module.table.scope_of[name].lookup(name.id)
    return scope is module.table.root
