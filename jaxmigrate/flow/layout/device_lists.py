"""Lists of devices: whether one holds all devices that pmap uses by default, and nothing changes it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Constant, External, Function, Parameter, Value, Values

DEVICES = named("devices")
COPIES = frozenset({"builtins.list", "builtins.tuple"})
CHANGES = frozenset({"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"})
NAMES = frozenset({"devices", "list", "local_devices", "tuple"})
SHUFFLE = "shuffle"  # numpy's and Python's


def is_all(value: Value, resolver: Resolver) -> bool:
    """Whether a value is the list of all devices: `jax.devices()`, or a copy of it, to which nothing is done.

    A list is changed where one of its names is, in any module, or where a function is given it that changes what it is
    given.
    """
    made = _made(value, resolver)
    return made is not None and not any(_is_changed(one, resolver) for one in made)


def are_all(values: Values, resolver: Resolver) -> bool:
    """Whether values of one expression are such lists, those of parameters being what their callers pass.

    None among them is no list: it gives way to one in `devices or jax.devices()`, or raises.
    """
    given = [v for one in values for v in (_passed(one, resolver) if isinstance(one, Parameter) else (one,))]
    lists = [one for one in given if one != Constant(None)]
    return bool(lists) and all(is_all(one, resolver) for one in lists)


def _passed(parameter: Parameter, resolver: Resolver) -> Values:
    return callers_of(resolver).passed(parameter)


def is_made_of_all(value: Value, resolver: Resolver) -> bool:
    """Whether a value is the list of all devices, or a copy of it, whatever is done to it later."""
    return _made(value, resolver) is not None


def changes_devices(module: Module, resolver: Resolver) -> bool:
    """Whether a program changes a list of all devices that a module makes."""
    calls = module.table.calls if "devices" in module.text else ()
    return any(
        _is_changed((call, module), resolver)
        for call in calls
        if last_name(call.func) in NAMES and _made(resolver.value(call, module), resolver) is not None
    )


def _made(value: Value, resolver: Resolver) -> list[tuple[ast.expr, Module]] | None:
    """The calls that a list of all devices comes from; None for anything else."""
    if not isinstance(value, Application) or not isinstance(value.callee, External):
        return None
    here = (value.node, value.module)
    if value.callee.name in DEVICES:
        return None if value.arguments else [here]
    if value.callee.name in COPIES and len(value.arguments) == 1:
        values = resolver.argument_values(value.arguments[0])
        inner = _made(values[0], resolver) if len(values) == 1 else None
        return [here, *inner] if inner is not None else None
    return None


@once_each
def _is_changed(made: tuple[ast.expr, Module], resolver: Resolver) -> bool:
    """Whether a list that a call of a module makes may be changed later, under a name that it gets."""
    names = _named_by(*made)
    return bool(names) and _changes_one(names, resolver)


def _named_by(made: ast.AST, module: Module) -> set[str]:
    """The names of variables and attributes that an assignment gives an expression."""
    parent = module.table.parents.get(made)
    match parent:
        case ast.Assign(targets=targets, value=value) if value is made:
            return {last_name(target) for target in targets} - {""}
        case ast.Return():
            scope = module.table.scope_of[made].function()
            return {getattr(scope.node, "name", "")} - {""} if scope is not None else set()
        case ast.Lambda():
            return _named_by(parent, module)
        case ast.Call(func=func) if func is made:
            return _named_by(parent, module)
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value) if value is made:
            return {last_name(target)} - {""}
    return set()


@once_each
def may_change(name: str, resolver: Resolver) -> bool:
    """Whether a project changes in place what goes by a name."""
    return _changes_one({name}, resolver)


def _changes_one(names: set[str], resolver: Resolver) -> bool:
    """Whether a project changes in place what goes by one of some names, or by one that is given to that."""
    pending, seen = [*names], set(names)
    while pending:
        name = pending.pop()
        for module in resolver.project.named:
            if name not in module.text:
                continue
            if _is_augmented(name, module):
                return True
            for node in module.table.named.get(name, ()):
                if _is_changed_at(node, module, resolver):
                    return True
                more = _named_by(node, module) - seen
                seen |= more
                pending += more
    return False


def _is_augmented(name: str, module: Module) -> bool:
    return "+=" in module.text and any(
        isinstance(node, ast.AugAssign) and last_name(node.target) == name for node in ast.walk(module.tree)
    )


def _is_changed_at(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a list is changed where it is named, or by a function that is called with it there."""
    parents = module.table.parents
    parent = parents.get(node)
    match parent:
        case ast.Attribute(attr=attr):
            call = parents.get(parent)
            return attr in CHANGES and isinstance(call, ast.Call) and call.func is parent
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return value is node
        case ast.keyword():
            call = parents.get(parent)
            return isinstance(call, ast.Call) and _changes_given(call, node, module, resolver)
        case ast.Call():
            return node in parent.args and _changes_given(parent, node, module, resolver)
    return False


def _changes_given(call: ast.Call, given: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a call changes an argument: a shuffle, or a function of the project that does so to its parameter."""
    if last_name(call.func) == SHUFFLE:
        return True
    for value in resolver.values(call.func, module):
        if isinstance(value, Function):
            by_name = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
            bound = passed(value.node.args, call.args, by_name, int(value.receiver is not None)).known
            names = {name for name, one in bound.items() if one is given}
            if not names.isdisjoint(_changed_in(ast.walk(value.node))):
                return True
    return False


def _changed_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that some code changes in place."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in CHANGES:
                yield name
            case ast.Call(func=called, args=[ast.Name(id=name), *_]) if last_name(called) == SHUFFLE:
                yield name
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
