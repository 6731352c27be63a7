"""`jax.device_put(x, NamedSharding(mesh, P("batch")))`: a slice of a stacked array on each device of a mesh."""

from __future__ import annotations

import ast

from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Argument, Constant, External, Value

PUTS, SHARDINGS = named("puts"), named("named-sharding")
ARRAYS = frozenset({"numpy.array", "numpy.asarray"})
OF_SHARDING = (named("mesh"), named("spec"))


def devices_put_over(call: ast.Call, module: Module, resolver: Resolver) -> tuple[ast.expr, Module] | None:
    """The list of devices over which a call lays out the leading axis of what it is given, one slice on each."""
    if not _is_one(resolver.value(call.func, module), PUTS) or len(call.args) != 2 or call.keywords:
        return None
    sharding = _called(Argument(None, call.args[1], module), SHARDINGS, resolver)
    if sharding is None or len(sharding.arguments) != 2:
        return None
    mesh, spec = (_called(one, names, resolver) for one, names in zip(sharding.arguments, OF_SHARDING, strict=True))
    if mesh is None or spec is None or len(mesh.arguments) != 2:
        return None
    devices, axes = mesh.arguments
    named = resolver.literal(axes)
    axis = named[0] if isinstance(named, tuple | list) and len(named) == 1 else named
    first = [*(resolver.value(one.expression, one.module) for one in spec.arguments[:1] if one.expression is not None)]
    others = [resolver.literal(one) for one in spec.arguments[1:]]
    if not isinstance(axis, str) or first != [Constant(axis)] or any(one is not None for one in others):
        return None
    listed = devices.expression
    match listed:
        case ast.Call(func=func, args=[inner], keywords=[]) if _is_one(resolver.value(func, devices.module), ARRAYS):
            listed = inner  # an array that nothing else has
    return (listed, devices.module) if listed is not None else None


def _called(given: Argument, names: frozenset[str], resolver: Resolver) -> Application | None:
    values = resolver.argument_values(given)
    value = values[0] if len(values) == 1 else None
    return value if isinstance(value, Application) and _is_one(value.callee, names) else None


def _is_one(value: Value, names: frozenset[str]) -> bool:
    return isinstance(value, External) and value.name in names
