"""What a program's own wrapper of a map makes of a function: `def pmap(fn, **kw): return jax.pmap(fn, "batch", **kw)`.

The call of such a wrapper is the map that it returns, with the wrapper's arguments in the place of its parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from jaxmigrate.flow.factories import is_come_to
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.library import named
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.syntax import calls_of
from jaxmigrate.program.values import Application, Argument, External, Function, Member, Parameter, Partial, Value
from jaxmigrate.records import replace

DEEPEST = 4  # wrappers of wrappers
JITS = named("jit")
DEVICE_MAPS = named("pmap", "shard-map", "one-axis")

Given = Mapping[tuple[ast.AST, str], tuple[Argument, ...]]  # by parameter, several for stars


def unwrapped(value: Application, resolver: Resolver) -> Application:
    """The call of a library's function that the call of a wrapper gives; any other call as it is."""
    if isinstance(value.callee, External):
        return value
    made, _ = _expanded(value, {}, resolver, DEEPEST)
    if not isinstance(made, Application) or not isinstance(made.callee, External):
        return value
    return replace(made, node=value.node, module=value.module)


def mapped_within(value: Application, resolver: Resolver) -> Application | None:
    """The map over devices in a function that the call of a wrapper returns, with the wrapper's arguments in place.

    `def parallel(f): mapped = jax.pmap(f, "i"); return lambda x: mapped(shard(x))` maps its argument, whatever else the
    function that it returns does with what that is given. None where there is not one such map.
    """
    if isinstance(value.callee, External):
        return None
    made, given = _expanded(value, {}, resolver, DEEPEST)
    if not isinstance(made, Function) or made.receiver is not None or not given:
        return None
    found: dict[ast.AST, Application] = {}
    for call in calls_of(made.node):
        for one in (*resolver.values(call, made.module), *resolver.values(call.func, made.module)):
            mapped = _map_of(one, given, resolver)
            if mapped is not None:
                found[mapped.node] = mapped
    return next(iter(found.values())) if len(found) == 1 else None


def _map_of(value: Value, given: Given, resolver: Resolver) -> Application | None:
    """The map of a wrapper's parameter that a value is, through `jit`, with what the parameter stands for."""
    while isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in JITS:
        first = value.arguments[0] if value.arguments else None
        inner = resolver.argument_values(first) if first is not None else ()
        value = inner[0] if len(inner) == 1 else value.callee
    if not isinstance(value, Application) or not isinstance(value.callee, External):
        return None
    if value.callee.name not in DEVICE_MAPS or not value.arguments:
        return None
    made = filled(value, given, resolver)
    assert isinstance(made, Application)
    before, after = argument(value.arguments, 0, "fun", "f"), argument(made.arguments, 0, "fun", "f")
    return made if before != after else None


def before_compiling(value: Value) -> Value:
    """What `f.lower(...).compile()` was made of; any other value as it is."""
    match value:
        case Application(callee=Member(owner=Application(callee=Member(owner=made, name="lower")), name="compile")):
            return made
    return value


def passes_on(value: Value) -> bool:
    """Whether something called takes arguments by stars, which it may pass on."""
    match value:
        case Application(callee=Function(node=node)):
            return node.args.vararg is not None or node.args.kwarg is not None
        case Application(callee=Application() as inner):
            return passes_on(inner)
    return False


def _expanded(value: Value, given: Given, resolver: Resolver, depth: int) -> tuple[Value | None, Given]:
    """What a call gives in the end, and what the parameters stand for that it mentions; None where that is unclear."""
    if not isinstance(value, Application) or isinstance(value.callee, External):
        return value, given
    if depth == 0:
        return None, given
    callee: Value | None = value.callee
    if isinstance(callee, Application):  # a decorator with arguments
        callee, given = _expanded(callee, given, resolver, depth - 1)
    if isinstance(callee, Partial):
        found = tuple(resolver.apply(callee, value.arguments, value.node, value.module))
        return _expanded(found[0], given, resolver, depth - 1) if len(found) == 1 else (None, given)
    if not isinstance(callee, Function) or callee.receiver is not None:
        return None, given
    inside = _bound(callee, value.arguments, given)
    returned = resolver.returned(callee) if inside is not None else ()
    if len(returned) > 1:  # `return f if mesh is None else shard_map(f, mesh, ...)`
        returned = tuple(one for one in returned if not isinstance(one, Parameter))
    returned = tuple(one for one in returned if not _is_passed_by(one, value, resolver))
    if inside is None or len(returned) != 1:
        return None, given
    return _expanded(filled(returned[0], inside, resolver), inside, resolver, depth - 1)


def _is_passed_by(returned: Value, made: Application, resolver: Resolver) -> bool:
    """Whether a call of a wrapper does not come to the map that it may return, by the flags that it is given."""
    return isinstance(returned, Application) and not is_come_to(returned.node, returned.module, made, resolver)


def _bound(wrapper: Function, arguments: tuple[Argument, ...], given: Given) -> Given | None:
    """What a wrapper's parameters stand for in one call of it."""
    if any(one.keyword in ("*", "**") for one in arguments):
        return None
    spec = wrapper.node.args
    positional = [one for one in arguments if one.keyword is None]
    named = {one.keyword: one for one in arguments if one.keyword is not None}
    taken = passed(spec, positional, named)
    found: dict[str, tuple[Argument, ...]] = {
        name: (Argument(None, default, wrapper.module),) for name, default in defaults_of(spec)
    }
    found |= {name: (one,) for name, one in taken.known.items()}
    if spec.vararg is not None:
        found[spec.vararg.arg] = tuple(taken.extra)
    if spec.kwarg is not None:
        found[spec.kwarg.arg] = tuple(taken.others.values())
    return {**given, **{(wrapper.node, name): one for name, one in found.items()}}


def filled(value: Value, given: Given, resolver: Resolver) -> Value:
    """A call or partial with what its parameters stand for among its arguments."""
    if not isinstance(value, Application | Partial):
        return value
    arguments = tuple(one for argument in value.arguments for one in _standing_for(argument, given, resolver))
    callee = filled(value.callee, given, resolver)
    if isinstance(callee, Parameter) and len(known := given.get((callee.function, callee.name), ())) == 1:
        values = resolver.argument_values(known[0])  # of `partial(fn, self)`
        callee = values[0] if len(values) == 1 else callee
    return replace(value, callee=callee, arguments=arguments)


def _standing_for(argument: Argument, given: Given, resolver: Resolver) -> Iterator[Argument]:
    known = None
    values = resolver.values(argument.expression, argument.module) if argument.expression is not None else ()
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Parameter):
        known = given.get((value.function, value.name))
    if isinstance(value, Application | Partial) and (inner := filled(value, given, resolver)) != value:
        yield replace(argument, value=inner)
    elif known is None:
        yield argument
    elif argument.keyword in ("*", "**"):
        yield from known
    else:
        yield from (replace(one, keyword=argument.keyword) for one in known)
