"""What values say of axes: their names, the axes that a map binds, and what the parameters of a call stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from jaxmigrate.flow import configured, receivers
from jaxmigrate.flow.axis_symbols import symbol_of
from jaxmigrate.flow.context_meshes import mesh_in_context
from jaxmigrate.flow.receivers import Bindings
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import (
    GRADIENTS,
    MESHES,
    ONE_AXIS_MAPS,
    OTHER_MAPS,
    PMAPS,
    SHARD_MAPS,
    TRANSPARENT,
    VMAP,
    argument,
)
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import all_parameters, defaults_of, walk
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    Constant,
    External,
    Function,
    Instance,
    Member,
    Parameter,
    Partial,
    Value,
    Values,
)

Place: TypeAlias = tuple[ast.AST, Module]
CallPlace: TypeAlias = tuple[ast.expr, Module]
DEEPEST = 6  # functions that a mesh is handed through
CACHES = named("cache")
EXACT_MAPS = PMAPS | SHARD_MAPS  # what they map runs with their axes, whatever is bound around them
TRANSFORMATIONS = TRANSPARENT | GRADIENTS | named("jacobian")


def is_map(name: str) -> bool:
    """Whether a function of JAX maps its first argument over an axis."""
    return name == VMAP or name in EXACT_MAPS or name in ONE_AXIS_MAPS or name in OTHER_MAPS


def map_axes(
    name: str, arguments: tuple[Argument, ...], resolver: Resolver, bindings: Bindings, place: Place | None = None
) -> frozenset[str] | None:
    """The axes that a map binds, None where they are not known; a map without a name binds none that can be named.

    `place`: where a map stands, which then runs on the mesh in context if it is given none.
    """
    if name in OTHER_MAPS or any(a.keyword in ("*", "**") for a in arguments):
        return None
    if name in SHARD_MAPS:
        return _manual_axes(arguments, resolver, bindings, place)
    axis = argument(arguments, 1 if name in PMAPS else None, "axis_name")
    if axis is None:
        return frozenset()
    names = axis_names(axis.expression, axis.module, resolver, bindings)
    return None if names is None else frozenset(names)


def _manual_axes(
    arguments: tuple[Argument, ...], resolver: Resolver, bindings: Bindings, place: Place | None
) -> frozenset[str] | None:
    """The axes that a shard_map binds: those of its mesh, or those of them that it lists."""
    listed = argument(arguments, None, "axis_names")
    if listed is not None:
        names = _set_of_names(listed, resolver, bindings)
        if names is None or names:
            return names
    if argument(arguments, None, "auto") is not None:
        return None
    mesh = argument(arguments, 1, "mesh")
    if mesh is not None and resolver.argument_values(mesh) != (Constant(None),):
        return mesh_axes(mesh, resolver, bindings)
    if place is None:
        return None
    return mesh_in_context(*place, resolver, lambda given: mesh_axes(given, resolver, bindings))


def _set_of_names(given: Argument, resolver: Resolver, bindings: Bindings) -> frozenset[str] | None:
    """The names in `{'a', 'b'}` or `frozenset(('a',))`; None where that is not known."""
    node = given.expression
    match node:
        case ast.Call(func=ast.Name(id="set" | "frozenset"), args=[], keywords=[]):
            return frozenset()
        case ast.Call(func=ast.Name(id="set" | "frozenset"), args=[inner], keywords=[]):
            node = inner
    if not isinstance(node, ast.Set | ast.Tuple | ast.List):
        return None
    parts = [axis_names(element, given.module, resolver, bindings) for element in node.elts]
    return None if None in parts else frozenset(name for part in parts for name in part or ())


def mesh_axes(mesh: Argument, resolver: Resolver, bindings: Bindings) -> frozenset[str] | None:
    """The axis names of a mesh, None where they are not known."""
    own = None
    if mesh.expression is not None:
        own = receivers.attribute(mesh.expression, mesh.module, resolver, bindings)
    return _axes_of(resolver.argument_values(mesh) if own is None else own, resolver, bindings, DEEPEST)


def _axes_of(values: Values, resolver: Resolver, bindings: Bindings, depth: int) -> frozenset[str] | None:
    """The axes that all these meshes have, None where one may have others."""
    given = [one for value in values for one in _given(value, resolver, bindings)]
    found = {_axes_of_mesh(value, resolver, bindings, depth) for value in given}
    return found.pop() if len(found) == 1 else None


def _given(value: Value, resolver: Resolver, bindings: Bindings) -> Values:
    """What a value stands for: of a parameter that nothing is bound to, what all callers of its function pass."""
    if isinstance(value, Parameter) and (value.function, value.name) not in bindings:
        return callers_of(resolver).passed(value)
    return bound((value,), bindings)


def _axes_of_mesh(value: Value, resolver: Resolver, bindings: Bindings, depth: int) -> frozenset[str] | None:
    if not isinstance(value, Application):
        return None
    maker, given = _behind_cache(value.callee, resolver), value.arguments
    if isinstance(maker, Partial):
        given = (*maker.arguments, *given)
        maker = maker.callee
    match maker, given:
        case External(name=name), _ if name in MESHES:
            names = argument(given, 1, "axis_names")
            axes = axis_names(names.expression, names.module, resolver, bindings) if names is not None else None
            return None if axes is None else frozenset(axes)
        case External(name=name), (Argument(value=Function() as getter),) if name in receivers.PROPERTIES:
            return None if _is_one_of_several(getter, resolver) else _returned(getter, (), resolver, bindings, depth)
        case Function(receiver=owner), _:
            made = isinstance(owner, Instance) and owner.call is not None
            if owner is None or made or not _is_one_of_several(maker, resolver):
                return _returned(maker, given, resolver, bindings, depth)
    return None


def _returned(
    maker: Function, given: tuple[Argument, ...], resolver: Resolver, bindings: Bindings, depth: int
) -> frozenset[str] | None:
    """The axes of the meshes that a call of a function gives."""
    yields = (ast.Yield, ast.YieldFrom)
    if (
        depth == 0
        or isinstance(maker.node, ast.AsyncFunctionDef)
        or any(isinstance(n, yields) for n in walk(maker.node))
    ):
        return None
    inside = {**bindings, **bind_arguments(maker, given, resolver, bindings)}
    return _axes_of(resolver.returned(maker), resolver, inside, depth - 1)


def _behind_cache(callee: Value, resolver: Resolver) -> Value:
    """The function that `functools.cache` and the like were given; anything else as it is."""
    while isinstance(callee, Application) and callee.arguments:
        decorator = callee.callee.callee if isinstance(callee.callee, Application) else callee.callee
        inner = resolver.argument_values(callee.arguments[0])
        if not isinstance(decorator, External) or decorator.name not in CACHES or len(inner) != 1:
            break
        callee = inner[0]
    return callee


def _is_one_of_several(method: Function, resolver: Resolver) -> bool:
    """Whether other classes, of which the object may be, have a method of that name."""
    name = "" if isinstance(method.node, ast.Lambda) else method.node.name
    return sum(module.text.count(f"def {name}(") for module in resolver.project.program) > 1


def axis_names(
    axis: ast.expr | None, module: Module, resolver: Resolver, bindings: Bindings, *, symbols: bool = False
) -> tuple[str, ...] | None:
    """The names in an axis expression, empty for None, and None where it can be anything else.

    With `symbols`, what a parameter or a field holds that is not in sight has a symbol for its name.
    """
    if axis is None:
        return None
    if isinstance(axis, ast.Tuple | ast.List):
        parts = [axis_names(element, module, resolver, bindings, symbols=symbols) for element in axis.elts]
        return None if None in parts else tuple(name for part in parts for name in part or ())
    names: list[str] = []
    own = receivers.attribute(axis, module, resolver, bindings)
    for value in bound(resolver.values(axis, module) if own is None else own, bindings):
        if isinstance(value, Member) and value.name == "value":  # of an Enum
            value = value.owner
        if not isinstance(value, Constant):
            found = configured.axis_of(axis, resolver) or _first_of_mesh(axis, module, resolver, bindings)
            return symbol_of(axis, value) if found is None and symbols else found
        items = value.value if isinstance(value.value, tuple) else (value.value,)
        if any(not isinstance(item, str) for item in items if item is not None):
            return None
        names += [item for item in items if isinstance(item, str)]
    return tuple(dict.fromkeys(names))


def _first_of_mesh(node: ast.expr, module: Module, resolver: Resolver, bindings: Bindings) -> tuple[str, ...] | None:
    """The name in `mesh.axis_names[0]` of a mesh that has one axis."""
    if "axis_names" not in module.text:
        return None
    if isinstance(node, ast.Name) and node in module.table.scope_of:
        found = resolver.bindings(node.id, module.table.scope_of[node]) or ()
        value = found[0].value if len(found) == 1 and found[0].kind == "assign" and not found[0].path else None
        return None if value is None else _first_of_mesh(value, module, resolver, bindings)
    match node:
        case (
            ast.Subscript(value=ast.Attribute(value=mesh, attr="axis_names"))
            | ast.Attribute(value=mesh, attr="axis_names")
        ):
            names = _axes_of(resolver.values(mesh, module), resolver, bindings, DEEPEST)
            return tuple(names) if names is not None and len(names) == 1 else None
    return None


def bind_arguments(
    function: Function, arguments: Iterable[Argument], resolver: Resolver, bindings: Bindings
) -> dict[tuple[ast.AST, str], Values]:
    """What the parameters of a function stand for in one call: constants and functions only, which are what decides."""
    given = list(arguments)
    found = {name: resolver.values(default, function.module) for name, default in defaults_of(function.node.args)}
    if any(one.keyword in ("*", "**") for one in given):
        found = dict.fromkeys((parameter.arg for parameter in all_parameters(function.node.args)), (UNKNOWN,))
    else:
        positional = [one for one in given if one.keyword is None]
        named = {one.keyword: one for one in given if one.keyword is not None}
        known = passed(function.node.args, positional, named, int(function.receiver is not None)).known
        found |= {name: bound(resolver.argument_values(one), bindings) for name, one in known.items()}
    return {(function.node, name): _telling(values) for name, values in found.items()}


def of_receiver(owner: Value | None, call: CallPlace, resolver: Resolver, bindings: Bindings) -> Bindings:
    """What is known of the object whose method is called, and of what its constructor was given."""
    if not isinstance(owner, Instance):
        return {}
    node, module = call
    known = receivers.known_as(owner, node, module, resolver)
    made = receivers.constructor(owner, resolver)
    if made is not None and owner.call is not None:
        known |= bind_arguments(made, owner.call.arguments, resolver, bindings)
    return known


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
