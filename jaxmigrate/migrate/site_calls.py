"""The calls of what a site maps: which these are, and what they give by which names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.migrate.one_device import calls_of
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.sites import MappedSite, literal_of, mapped_function, mapped_values
from jaxmigrate.program.syntax import has_stars, last_name
from jaxmigrate.program.values import (
    Application,
    External,
    Function,
    Partial,
    Value,
)

WRAPPERS = named("same-call", "vmap")
VALUE_AND_GRADS = ("value", "grads")


def near_calls(site: MappedSite, resolver: Resolver) -> list[ast.Call]:
    """The calls of what a site maps, by its names: those of its own file and by its first name, if there are some.

    What it is called elsewhere something else may be called, too.
    """
    found = taken_calls(site, resolver)
    above = site.module.table.parents.get(site.node)
    name = last_name(above.targets[0]) if isinstance(above, ast.Assign) else ""
    near = [call for call, module in found if module is site.module] or [call for call, _ in found]
    own = [call for call in near if last_name(call.func) == name] if name else []
    return sorted(own or near, key=lambda call: (call.lineno, call.col_offset))


def arguments_of(site: MappedSite, resolver: Resolver) -> Iterator[tuple[ast.expr, Module]]:
    """What calls give a map for the first argument that has rows, as far as its axes are known."""
    axes = literal_of(site, "in_axes", 0, resolver)
    first = next((i for i, axis in enumerate(axes) if axis == 0), 0) if isinstance(axes, tuple) else 0
    for call, module in taken_calls(site, resolver):
        if not any(isinstance(one, ast.Starred) for one in call.args):
            yield from ((one, module) for one in call.args[first : first + 1])


@once_each
def taken_calls(site: MappedSite, resolver: Resolver) -> list[tuple[ast.Call, Module]]:
    """The calls of what a site maps: those by its names that are none of a library and that it would not refuse."""
    return [
        (call, module)
        for call, module in calls_of(site, resolver)
        if not isinstance(resolver.value(call.func, module), External) and _takes(site, call, resolver)
    ]


def _takes(site: MappedSite, call: ast.Call, resolver: Resolver) -> bool:
    """Whether what a site maps takes the arguments of a call, as far as both are known."""
    function, bound = mapped_function(site, resolver)
    if function is None or has_stars(call):
        return True
    arguments, names = function.node.args, function.passed_names()
    first, keywords = len(call.args) + has_receiver(site, call), {k.arg for k in call.keywords}
    others = {p.arg for p in arguments.kwonlyargs}
    required = {*names[: len(names) - len(arguments.defaults)]} - bound
    too_many = first > len(names) and arguments.vararg is None
    unknown = not arguments.kwarg and bool(keywords - {*names, *others})
    return not (too_many or unknown or required - {*names[:first], *keywords})


def has_receiver(site: MappedSite, call: ast.Call) -> bool:
    """Whether a call does not name the first argument: of a mapped method, by an object of its class."""
    parent = site.module.table.parents.get(site.node)
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and site.node in parent.decorator_list:
        return site.module.table.scope_of[parent].kind == "class"
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return False
    holder = site.module.table.parents.get(parent)
    if not isinstance(holder, ast.ClassDef) or not isinstance(call.func, ast.Attribute):
        return False
    owner = call.func.value
    return not (isinstance(owner, ast.Name) and owner.id == holder.name)


def names_the_rest(call: ast.Call, names: Sequence[str], receiver: bool) -> bool:
    """Whether a call gives by keyword all those parameters that it does not give by position."""
    return {k.arg for k in call.keywords} == set(names[len(call.args) + receiver :])


def names_as_called(
    site: MappedSite, calls: Sequence[ast.Call], resolver: Resolver
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Names for all arguments, and those given by keyword, where every call gives as many and the same by keyword."""
    found = {(len(c.args) + has_receiver(site, c), frozenset(k.arg or "" for k in c.keywords)) for c in calls}
    if len(found) != 1:
        return None
    ((count, keywords),) = found
    first = names_of(site, resolver, count, ()) or tuple(f"arg{i}" for i in range(count))
    spoken = tuple(k.arg or "" for k in calls[0].keywords)
    return None if "" in keywords or keywords & {*first} else ((*first, *spoken), spoken)


def required_names(site: MappedSite, resolver: Resolver) -> tuple[str, ...] | None:
    """The parameters of a mapped function that every call has to give; None where some may be left out."""
    value, names, bound = _passed(site, resolver)
    if value is None:
        return None
    arguments = value.node.args
    if arguments.defaults or arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        return None
    free = [name for name in names if name not in bound]
    return tuple(free) if free and free == names[: len(free)] else None


def names_of(
    site: MappedSite,
    resolver: Resolver,
    count: int | None,
    keywords: Sequence[str],
    counts: set[int] | None = None,
    *,
    by_keyword: bool = False,
) -> tuple[str, ...] | None:
    """The names of the parameters that calls give something for; None where they cannot be told."""
    value, names, bound = _passed(site, resolver)
    if value is None:
        return None
    arguments = value.node.args
    if any(name in bound for name in names):
        names = names[: min(i for i, name in enumerate(names) if name in bound)]
    if keywords:
        return (*names[: (count or 0) - len(keywords)], *keywords)
    if count is None and counts is not None and len(counts) == 1:
        count = next(iter(counts))
    optional = bool(arguments.defaults) and count is None
    if count is None and (optional or arguments.vararg is not None):
        return None
    if arguments.kwonlyargs and by_keyword:
        return None
    if len({p.arg for p in all_parameters(arguments)}) < len(names):
        return None
    chosen = names if count is None else names[:count]
    return tuple(chosen) if count is None or len(chosen) == count else None


def count_of(site: MappedSite, resolver: Resolver, counts: set[int], starred: bool) -> int | None:
    """How many arguments every call in sight gives; one that gave another number would be an error."""
    if len(counts) == 1 and not starred:
        return next(iter(counts))
    names = names_of(site, resolver, None, ()) if not counts else None
    return len(names) if names is not None else None


def names_said(calls: Sequence[ast.Call], count: int | None = None) -> tuple[str, ...]:
    """Names for arguments: those of what the first call gives that has a name for each, of so many if that is known."""
    for call in calls:
        if count is not None and len(call.args) != count:
            continue
        found = [_said_of(one) for one in call.args] if not call.keywords else []
        if found and len({*found} - {""}) == len(found):
            return tuple(found)
    return ()


def _said_of(node: ast.expr) -> str:
    """What a value is called: `batch` for `batch`, `self.batch`, `batches[0]` and `shard(batch)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=one) | ast.Call(args=[one, *_]):
            return _said_of(one)
    return ""


def _passed(site: MappedSite, resolver: Resolver) -> tuple[Function | None, list[str], frozenset[str]]:
    """The function that a site maps, what calls may give it by position, and what a partial binds by keyword."""
    value, bound = mapped_function(site, resolver)
    if value is not None:
        return value, value.passed_names(), bound
    found = mapped_values(site, resolver)
    partial = found[0] if len(found) == 1 else None
    if isinstance(partial, Application) and isinstance(inner := _wrapped(partial), Function):
        return inner, inner.passed_names(), bound
    callee = _wrapped(partial.callee) if isinstance(partial, Partial) else None
    if not isinstance(partial, Partial) or not isinstance(callee, Function):
        return None, [], bound
    given = [argument.keyword for argument in partial.arguments]
    if "*" in given or "**" in given:
        return None, [], bound
    keywords = frozenset(one for one in given if one is not None)
    return callee, callee.passed_names()[len(given) - len(keywords) :], keywords


def _wrapped(value: Value) -> Value:
    """What a function calls with the arguments that it takes: one that is compiled, say, or vectorised."""
    while isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in WRAPPERS:
        fun = next((one.value for one in value.arguments if one.keyword is None), None)
        if fun is None:
            break
        value = fun
    return value


def names_of_results(site: MappedSite, function: Value, count: int, resolver: Resolver) -> tuple[str, ...]:
    """Names for the parts of what a mapped function returns: its own for them, else those that callers have.

    None where neither has names for all.
    """
    made = function.callee if isinstance(function, Application) else None
    if made == External("jax.value_and_grad") and count == len(VALUE_AND_GRADS):
        return VALUE_AND_GRADS
    own = [_names_in(one) for one in _returned(function)]
    if own and all(len(one) == count for one in own):
        return own[-1]
    for call, module in taken_calls(site, resolver):
        above = module.table.parents.get(call)
        targets = above.targets if isinstance(above, ast.Assign) else []
        if len(targets) == 1 and len(names := _names_in(targets[0])) == count:
            return names
    return ()


def _returned(function: Value) -> list[ast.expr | None]:
    """What a function returns, or one that a function of the program makes."""
    if isinstance(function, Function):
        return returned_by(function.node)
    maker = function.callee if isinstance(function, Application) else None
    made = returned_by(maker.node) if isinstance(maker, Function) else []
    if not isinstance(maker, Function) or len(made) != 1 or not isinstance(made[0], ast.Name):
        return []
    bindings = maker.module.table.own_scope[maker.node].bindings.get(made[0].id, [])
    nodes = [one.node for one in bindings if isinstance(one.node, ast.FunctionDef)]
    return returned_by(nodes[0]) if len(nodes) == len(bindings) == 1 else []


def _names_in(node: ast.expr | None) -> tuple[str, ...]:
    """The names in a tuple of different ones; none in anything else."""
    elements = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    names = [one.id for one in elements if isinstance(one, ast.Name)]
    return tuple(names) if len({*names} - {"_"}) == len(elements) else ()
