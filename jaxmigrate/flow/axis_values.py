"""What values say of axes: their names, the axes that a map binds, and what the parameters of a call stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jaxmigrate.flow import receivers
from jaxmigrate.flow.receivers import Bindings
from jaxmigrate.program.collectives import (
    GRADIENTS,
    MESHES,
    OTHER_MAPS,
    PMAP,
    SHARD_MAPS,
    TRANSPARENT,
    VMAP,
    argument,
)
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    Constant,
    External,
    Function,
    Member,
    Parameter,
    Partial,
    Value,
    Values,
)

TRANSFORMATIONS = TRANSPARENT | GRADIENTS | {f"jax.{name}" for name in ("hessian", "jacfwd", "jacrev", "jacobian")}


def is_map(name: str) -> bool:
    """Whether a function of JAX maps its first argument over an axis."""
    return name in (PMAP, VMAP) or name in SHARD_MAPS or name in OTHER_MAPS


def map_axes(
    name: str, arguments: tuple[Argument, ...], resolver: Resolver, bindings: Bindings
) -> frozenset[str] | None:
    """The axes that a map binds, None where they are not known; a map without a name binds none that can be named."""
    if name in OTHER_MAPS or any(a.keyword in ("*", "**") for a in arguments):
        return None
    if name in SHARD_MAPS:
        mesh = argument(arguments, 1, "mesh")
        return mesh_axes(mesh, resolver, bindings) if mesh is not None else None
    axis = argument(arguments, 1 if name == PMAP else None, "axis_name")
    if axis is None:
        return frozenset()
    names = axis_names(axis.expression, axis.module, resolver, bindings)
    return None if names is None else frozenset(names)


def mesh_axes(mesh: Argument, resolver: Resolver, bindings: Bindings) -> frozenset[str] | None:
    """The axis names of a mesh, None where they are not known."""
    found: set[frozenset[str]] = set()
    for value in bound(resolver.argument_values(mesh), bindings):
        if not isinstance(value, Application) or not isinstance(value.callee, External):
            return None
        names = argument(value.arguments, 1, "axis_names") if value.callee.name in MESHES else None
        axes = axis_names(names.expression, names.module, resolver, bindings) if names is not None else None
        if axes is None:
            return None
        found.add(frozenset(axes))
    return found.pop() if len(found) == 1 else None


def axis_names(axis: ast.expr | None, module: Module, resolver: Resolver, bindings: Bindings) -> tuple[str, ...] | None:
    """The names in an axis expression, empty for None, and None where it can be anything else."""
    if axis is None:
        return None
    if isinstance(axis, ast.Tuple | ast.List):
        parts = [axis_names(element, module, resolver, bindings) for element in axis.elts]
        return None if None in parts else tuple(name for part in parts for name in part or ())
    names: list[str] = []
    own = receivers.attribute(axis, module, resolver, bindings)
    for value in bound(resolver.values(axis, module) if own is None else own, bindings):
        if isinstance(value, Member) and value.name == "value":  # of an Enum
            value = value.owner
        if not isinstance(value, Constant):
            return None
        items = value.value if isinstance(value.value, tuple) else (value.value,)
        if any(not isinstance(item, str) for item in items if item is not None):
            return None
        names += [item for item in items if isinstance(item, str)]
    return tuple(dict.fromkeys(names))


def bind_arguments(
    function: Function, arguments: Iterable[Argument], resolver: Resolver, bindings: Bindings
) -> dict[tuple[ast.AST, str], Values]:
    """What the parameters of a function stand for in one call: constants and functions only, which are what decides."""
    names = function.passed_names()
    found = {name: resolver.values(default, function.module) for name, default in defaults_of(function.node.args)}
    position = 0
    for one in arguments:
        if one.keyword in ("*", "**"):
            found = dict.fromkeys(found, (UNKNOWN,))
            break
        name = one.keyword or (names[position] if position < len(names) else None)
        position += one.keyword is None
        if name is not None:
            found[name] = bound(resolver.argument_values(one), bindings)
    return {(function.node, name): _telling(values) for name, values in found.items()}


def _telling(values: Values) -> Values:
    telling = all(isinstance(v, Constant | Function | Partial | Application | External) for v in values)
    return values if telling else (UNKNOWN,)


def bound(values: Values, bindings: Bindings) -> Values:
    """Values with parameters replaced by what is bound to them."""
    if not any(isinstance(value, Parameter) for value in values):
        return values
    found: list[Value] = []
    for value in values:
        if isinstance(value, Parameter):
            found += bindings.get((value.function, value.name), (UNKNOWN,))
        else:
            found.append(value)
    return tuple(dict.fromkeys(found))


def operands(arguments: Iterable[Argument], resolver: Resolver, bindings: Bindings) -> Iterator[Value]:
    """The functions among some arguments, and in lists and tuples of them."""
    for one in arguments:
        if one.expression is not None and isinstance(one.expression, ast.List | ast.Tuple):
            for element in one.expression.elts:
                yield from _callable(bound(resolver.values(element, one.module), bindings), resolver)
        else:
            yield from _callable(bound(resolver.argument_values(one), bindings), resolver)


def _callable(values: Values, resolver: Resolver) -> Iterator[Value]:
    return (v for v in values if isinstance(v, Function | Partial) or _makes_function(v, resolver))


def _makes_function(value: Value, resolver: Resolver) -> bool:
    """Whether a call gives a function, as far as is in sight: most calls give data, and data is not called."""
    if not isinstance(value, Application):
        return False
    if isinstance(value.callee, External):
        return value.callee.name in TRANSFORMATIONS or is_map(value.callee.name)
    if isinstance(value.callee, Function) and not isinstance(value.callee.node, ast.Lambda):
        returned = resolver.returned(value.callee)
        return any(isinstance(v, Function | Partial) or _is_transformed(v) for v in returned)
    return False


def _is_transformed(value: Value) -> bool:
    name = value.callee.name if isinstance(value, Application) and isinstance(value.callee, External) else ""
    return name in TRANSFORMATIONS or is_map(name)
