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
    r"unreplicate(?!_(batch|n))|(^|_)(first|one|single)_(device|replica|pmapped|shard)(_|$)|(^|_)(pick|take)_first(_|$)"
)  # a project's, by its name
LISTS = last_names("metrics")
FETCHING = last_names("fetches") | {"asarray", "block_until_ready", "float"}
FETCHED = frozenset({"item", "tolist", "copy", "block_until_ready"})  # methods
FLATTENING = frozenset({"ravel", "flatten"})
SHARDS = frozenset({"addressable_shards", "global_shards"})
OF_TYPES = frozenset({"shape", "dtype", "ndim", "size", "sharding", "at", "devices"})
GETTING = frozenset({"get", "pop"})
DEEPEST = 4


class Given(NamedTuple):
    """A parameter of a function, by its name."""

    function: ast.AST
    name: str


class Taken(NamedTuple):
    """An expression that takes one device's part of what a call gave, or what a function is given.

    `path` leads to the part of that, `names` it is known by. `home`: the module of the expression, where that is not
    the call's.
    """

    node: ast.expr
    call: ast.Call | Given
    path: tuple[int | str, ...]
    names: tuple[str, ...]
    home: Module | None = None


class Part(NamedTuple):
    """Which part of what a call gave, or what a function is given, an expression is."""

    call: ast.Call | Given
    path: tuple[int | str, ...]
    names: tuple[str, ...]


def taken_from(module: Module, within: ast.AST | None = None) -> Iterator[Taken]:
    """Every place of a module, or of a function in it, that takes one device's part of what some call gave."""
    for node in module.table.parents if within is None else ast.walk(within):
        if not isinstance(node, ast.expr):
            continue
        for base in _bases(node, module):
            for part in parts_of(base, module):
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
        case ast.Subscript(value=value, slice=index, ctx=ast.Load()) if _is_first(index):
            yield _flat(value)
        case ast.Subscript(
            value=value, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)), ctx=ast.Load()
        ):
            if not isinstance(value, ast.Call):  # of a tuple that a call gives, it is the last part
                yield value
        case ast.Call(func=ast.Attribute(value=value, attr="addressable_data"), args=[ast.Constant(value=0)]):
            yield value
        case ast.Call(func=function, args=[base, *_]) if names_first(function):
            yield base
        case ast.DictComp(value=value) if (name := _taken_name(value)) is not None:
            yield from _items_of(node, name)
        case ast.Call(func=function, args=[each, base]) if last_name(function) in TREE_MAP_NAMES:
            if (isinstance(each, ast.Lambda) and _fetches_first_slice(each)) or _is_getter(each):
                yield base
        case ast.Call(func=function, args=[ast.Name(id=name) as listed, *_]) if last_name(function) in LISTS:
            for call in module.table.calls:
                if _appends(call, name) and _function(call, module) is _function(listed, module):
                    yield call.args[0]


def _is_first(index: ast.expr) -> bool:
    """Whether a subscript takes the first element along the first dimension: `x[0]`, `x[0, ...]`."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    return isinstance(first, ast.Constant) and first.value == 0 and first.value is not False


def _flat(value: ast.expr) -> ast.expr:
    """What `x.ravel()` makes flat."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[]) if name in FLATTENING:
            return inner
    return value


def _is_getter(function: ast.expr) -> bool:
    """Whether a function is `operator.itemgetter(0)`."""
    match function:
        case ast.Call(func=made, args=[ast.Constant(value=0)]):
            return last_name(made) == "itemgetter"
    return False


def names_first(function: ast.expr) -> bool:
    """Whether a function takes one device's slice, by its name."""
    name = last_name(function)
    return name in TAKING or OWN_TAKING.search(name) is not None


def _items_of(node: ast.DictComp, name: str) -> Iterator[ast.expr]:
    """The dictionary whose values a comprehension calls by a name: `{k: v[0] for k, v in metrics.items()}`."""
    match node.generators:
        case [ast.comprehension(target=target, iter=items)]:
            yield from _entries(target, items, name)


def _entries(target: ast.expr, items: ast.expr, name: str) -> Iterator[ast.expr]:
    """The dictionary whose values a loop calls by a name."""
    match target, items:
        case ast.Tuple(elts=[_, ast.Name(id=value)]), ast.Call(func=ast.Attribute(value=owner, attr="items")):
            if value == name:
                yield owner
        case ast.Name(id=value), ast.Call(func=ast.Attribute(value=owner, attr="values")):
            if value == name:
                yield owner


def takes_first_slice(function: ast.Lambda) -> bool:
    """Whether a function is `lambda x: x[0]`."""
    match function.args.args, function.body:
        case [one], ast.Subscript(value=ast.Name(id=name), slice=index) if _is_first(index):
            return one.arg == name
    return False


def _fetches_first_slice(function: ast.Lambda) -> bool:
    """Whether a function takes the first slice to the host: `lambda x: x[0].item()`, `lambda x: float(x[0])`."""
    name = _taken_name(function.body)
    return name is not None and [one.arg for one in function.args.args] == [name]


def _taken_name(body: ast.expr) -> str | None:
    """The name of what an expression takes the first slice of, and perhaps to the host; None of any other."""
    taken = False
    while True:
        match body:
            case ast.Name(id=name):
                return name if taken else None
            case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[]) if name in FETCHED:
                body = inner
            case ast.Call(func=made, args=[inner, *_]) if last_name(made) in FETCHING:
                body = inner
            case ast.Call(func=ast.Attribute(value=inner, attr="addressable_data"), args=[ast.Constant(value=0)]):
                body, taken = inner, True
            case ast.Subscript(value=inner, slice=index) if _is_first(index) and not taken:
                body, taken = inner, True
            case _:
                return None


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


def parts_of(node: ast.expr, module: Module, depth: int = DEEPEST) -> Iterator[Part]:
    """The call that an expression comes from, or the parameter, and which part of it the expression is."""
    if depth == 0:
        return
    match node:
        case ast.Subscript(value=inner, slice=ast.Constant(value=(int() | str()) as key)):
            for part in parts_of(inner, module, depth):
                yield _deeper(part, key)
        case ast.Attribute(value=ast.Name() as owner, attr=name) if (
            binding := _stored(node, owner, module)
        ) is not None:
            value, path = binding
            for part in parts_of(value, module, depth - 1):
                yield Part(part.call, (*part.path, *path), (*part.names, name))
        case ast.Attribute(value=inner, attr=name) if name in SHARDS:
            yield from parts_of(inner, module, depth)
        case ast.Attribute(value=inner, attr=name) if name not in OF_TYPES:
            for part in parts_of(inner, module, depth):
                yield _deeper(part, name)
        case ast.Call():
            yield from _of_call(node, module, depth)
        case ast.Name(id=name):
            yield from _of_name(node, name, module, depth)


def _of_call(node: ast.Call, module: Module, depth: int) -> Iterator[Part]:
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[ast.Constant(value=str(key)), *_]) if (
            name in GETTING
        ):
            for part in parts_of(inner, module, depth - 1):
                yield _deeper(part, key)
        case ast.Call(func=function, args=[inner]) if last_name(function) in FETCHING:
            yield from parts_of(inner, module, depth - 1)
        case _:
            yield Part(node, (), ())


def _of_name(node: ast.Name, name: str, module: Module, depth: int) -> Iterator[Part]:
    binding = _nearest(node, module)
    if binding is None:
        return
    if binding.kind == "param":
        yield Part(Given(binding.scope.node, name), (), ())
    elif binding.kind == "other":
        loop = _loop(binding, module)
        for entry in _entries(loop.target, loop.iter, name) if loop is not None else ():
            for part in parts_of(entry, module, depth - 1):
                yield Part(part.call, part.path, (*part.names, name))
    elif binding.value is not None:
        called = last_name(binding.value.func) if isinstance(binding.value, ast.Call) else ""
        if called in FETCHING | LISTS and binding.path:
            return
        for part in parts_of(binding.value, module, depth - 1):
            yield Part(part.call, (*part.path, *binding.path), (*part.names, name))


def _deeper(part: Part, key: int | str) -> Part:
    return Part(part.call, (*part.path, key), (*part.names, key) if isinstance(key, str) else part.names)


def _nearest(node: ast.Name, module: Module) -> Binding | None:
    """The assignment of a name that stands nearest above where it is read, in the same function."""
    scope = module.table.scope_of.get(node)
    holder = scope.lookup(node.id) if scope is not None else None
    if holder is None:
        return None
    bindings = holder.bindings[node.id]
    above = [b for b in bindings if getattr(b.node, "end_lineno", node.lineno) < node.lineno or b.kind == "param"]
    return max(above, key=lambda b: getattr(b.node, "lineno", 0)) if above else None


def _loop(binding: Binding, module: Module) -> ast.For | None:
    """The loop whose target binds a name."""
    above = module.table.parents.get(binding.node)
    while isinstance(above, ast.Tuple | ast.List):
        above = module.table.parents.get(above)
    return above if isinstance(above, ast.For) else None


def _stored(node: ast.Attribute, owner: ast.Name, module: Module) -> tuple[ast.expr, tuple[int | str, ...]] | None:
    """What was last stored in `self.metrics` above where it is read, in the same function, and which part of it."""
    last: ast.Assign | None = None
    for one in (*module.table.attributes, *module.table.unpacked):
        if one.attr != node.attr or not isinstance(one.target, ast.Name) or one.target.id != owner.id:
            continue
        if (
            isinstance(one.node, ast.Assign)
            and (last.lineno if last is not None else 0) < one.node.lineno < node.lineno
        ):
            last = one.node
    if last is None or module.table.function_of(last) is not module.table.function_of(node):
        return None
    return next(((last.value, path) for path, one in _stores(last) if one.attr == node.attr), None)


def _stores(node: ast.Assign) -> Iterator[tuple[tuple[int | str, ...], ast.Attribute]]:
    """The attributes that an assignment sets, and which part of its value each becomes."""
    for target in node.targets:
        if isinstance(target, ast.Attribute):
            yield (), target
        for n, one in enumerate(target.elts if isinstance(target, ast.Tuple) else ()):
            if isinstance(one, ast.Attribute):
                yield (n,), one
