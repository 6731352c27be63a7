"""Where the host takes one device's value of what a map gave back: `metrics["loss"][0]`, `unreplicate(metrics)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.program.library import last_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trees import TREE_MAP_NAMES

TAKING = last_names("unreplicates") | {"get_first", "first_replica", "unreplicate_tree", "get_from_first_device"}
OWN_TAKING = re.compile(
    r"unreplicate|(^|_)(first|one|single)_(device|replica|pmapped|shard)(_|$)|(^|_)(pick|take)_first(_|$)"
)  # a project's, by its name
LISTS = last_names("metrics")
FETCHING = last_names("fetches") | {"asarray", "block_until_ready", "float"}
FETCHED = frozenset({"item", "tolist", "copy", "block_until_ready"})  # methods
DEEPEST = 4


class Taken(NamedTuple):
    """An expression that takes one device's part of what a call gave: of its part at `path`, known by `names`."""

    node: ast.expr
    call: ast.Call
    path: tuple[int | str, ...]
    names: tuple[str, ...]


class _Part(NamedTuple):
    call: ast.Call
    path: tuple[int | str, ...]
    names: tuple[str, ...]


def taken_from(module: Module) -> Iterator[Taken]:
    """Every place of a module that takes one device's part of what some call gave."""
    for node in module.table.parents:
        if not isinstance(node, ast.expr):
            continue
        for base in _bases(node, module):
            for part in _parts(base, module, DEEPEST):
                yield Taken(node, part.call, part.path, part.names or _given_to(node, module))


def _given_to(node: ast.expr, module: Module) -> tuple[str, ...]:
    """The name that what is taken gets."""
    match module.table.parents.get(node):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return (name,)
    return ()


def _bases(node: ast.expr, module: Module) -> Iterator[ast.expr]:
    """What an expression takes the first element of, leaf by leaf."""
    match node:
        case ast.Subscript(value=value, slice=ast.Constant(value=0), ctx=ast.Load()):
            yield value
        case ast.Subscript(
            value=value, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)), ctx=ast.Load()
        ):
            if not isinstance(value, ast.Call):  # of a tuple that a call gives, it is the last part
                yield value
        case ast.Call(func=function, args=[base, *_]) if names_first(function):
            yield base
        case ast.DictComp(value=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0))):
            yield from _items_of(node, name)
        case ast.Call(func=function, args=[ast.Lambda() as each, base]) if last_name(function) in TREE_MAP_NAMES:
            if _fetches_first_slice(each):
                yield base
        case ast.Call(func=function, args=[ast.Name(id=name) as listed, *_]) if last_name(function) in LISTS:
            for call in module.table.calls:
                if _appends(call, name) and _function(call, module) is _function(listed, module):
                    yield call.args[0]


def names_first(function: ast.expr) -> bool:
    """Whether a function takes one device's slice, by its name."""
    name = last_name(function)
    return name in TAKING or OWN_TAKING.search(name) is not None


def _items_of(node: ast.DictComp, name: str) -> Iterator[ast.expr]:
    """The dictionary whose values a comprehension calls by a name: `{k: v[0] for k, v in metrics.items()}`."""
    match node.generators:
        case [ast.comprehension(target=ast.Tuple(elts=[_, ast.Name(id=value)]), iter=ast.Call() as items)]:
            if value == name and isinstance(items.func, ast.Attribute) and items.func.attr == "items":
                yield items.func.value


def takes_first_slice(function: ast.Lambda) -> bool:
    """Whether a function is `lambda x: x[0]`."""
    match function.args.args, function.body:
        case [one], ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0)):
            return one.arg == name
    return False


def _fetches_first_slice(function: ast.Lambda) -> bool:
    """Whether a function takes the first slice to the host: `lambda x: x[0].item()`, `lambda x: float(x[0])`."""
    body = function.body
    while isinstance(body, ast.Call):
        match body:
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[]) if name in FETCHED:
                body = inner
            case ast.Call(func=made, args=[inner, *_]) if last_name(made) in FETCHING:
                body = inner
            case _:
                return False
    return takes_first_slice(ast.Lambda(function.args, body))


def _appends(call: ast.Call, name: str) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=owner), attr="append"):
            return owner == name and len(call.args) == 1
    return False


def _function(node: ast.AST, module: Module) -> ast.AST | None:
    scope = module.table.scope_of.get(node.func if isinstance(node, ast.Call) else node)
    if scope is None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        scope = module.table.scope_of.get(node.func.value)
    holder = scope.function() if scope is not None else None
    return holder.node if holder is not None else None


def _parts(node: ast.expr, module: Module, depth: int) -> Iterator[_Part]:
    """The call that an expression comes from, and which part of its result it is."""
    if depth == 0:
        return
    match node:
        case ast.Subscript(value=inner, slice=ast.Constant(value=(int() | str()) as key)):
            for part in _parts(inner, module, depth):
                yield _deeper(part, key)
        case ast.Attribute(value=inner, attr=name):
            for part in _parts(inner, module, depth):
                yield _deeper(part, name)
        case ast.Call(func=function, args=[inner]) if last_name(function) in FETCHING:
            yield from _parts(inner, module, depth - 1)
        case ast.Call():
            yield _Part(node, (), ())
        case ast.Name(id=name):
            binding = _nearest(node, module)
            if binding is None or binding.value is None:
                return
            if (
                isinstance(binding.value, ast.Call)
                and last_name(binding.value.func) in FETCHING | LISTS
                and binding.path
            ):
                return
            for part in _parts(binding.value, module, depth - 1):
                yield _Part(part.call, (*part.path, *binding.path), (*part.names, name))


def _deeper(part: _Part, key: int | str) -> _Part:
    return _Part(part.call, (*part.path, key), (*part.names, key) if isinstance(key, str) else part.names)


def _nearest(node: ast.Name, module: Module) -> Binding | None:
    """The assignment of a name that stands nearest above where it is read, in the same function."""
    holder = module.table.scope_of[node].lookup(node.id)
    if holder is None:
        return None
    bindings = holder.bindings[node.id]
    above = [b for b in bindings if getattr(b.node, "end_lineno", node.lineno) < node.lineno]
    return max(above, key=lambda b: getattr(b.node, "lineno", 0)) if above else None
