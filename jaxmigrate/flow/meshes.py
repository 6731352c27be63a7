"""Meshes: what axes one has, how many dimensions its array of devices has, and whether numbers in it are fixed."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.program.collectives import MAKE_MESH, MESHES, argument
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Argument, Constant, External, Function, Value

DEVICES = named("devices")
ARRAYS = named("array-of")
RESHAPES = named("reshapes")
DEVICE_MESHES = named("device-mesh")


class MeshCall(NamedTuple):
    """A call that makes a mesh.

    Attributes:
        module: Where it stands.
        call: The call.
        name: The function's full name.
        shape: The expression of its shape, with the module that holds it; None where devices come in one row.
        rank: The dimensions of its array of devices, None where they are not known.
        axes: Its axis names in order, None where they are not known.
    """

    module: Module
    call: ast.Call
    name: str
    shape: tuple[ast.expr, Module] | None
    rank: int | None
    axes: tuple[str, ...] | None


def mesh_call(call: ast.Call, module: Module, resolver: Resolver) -> MeshCall | None:
    """What a call says of the mesh that it makes, None where it makes none."""
    value = resolver.value(call, module)
    if not isinstance(value, Application) or not isinstance(value.callee, External) or value.node is not call:
        return None
    name = value.callee.name
    if name not in MESHES:
        return None
    first = argument(value.arguments, 0, "devices", "axis_shapes")
    names = argument(value.arguments, 1, "axis_names")
    axes = ordered_names(names, resolver) if names is not None else None
    if first is None or first.expression is None:
        return MeshCall(module, call, name, None, None, axes)
    if name == MAKE_MESH:
        shape = (first.expression, first.module)
        return MeshCall(module, call, name, shape, _length(first.expression, first.module, resolver), axes)
    return MeshCall(module, call, name, *_devices(first.expression, first.module, resolver), axes)


def ordered_names(names: Argument, resolver: Resolver) -> tuple[str, ...] | None:
    """The names of a mesh's axes one by one, repetitions kept; None where some are not known."""
    node = names.expression
    if isinstance(node, ast.Tuple | ast.List):
        parts = [axis_names(element, names.module, resolver, {}) for element in node.elts]
        known = [part[0] for part in parts if part is not None and len(part) == 1]
        return tuple(known) if len(known) == len(parts) else None
    values = resolver.argument_values(names)
    value = values[0].value if len(values) == 1 and isinstance(values[0], Constant) else None
    if isinstance(value, str):
        return (value,)
    return value if isinstance(value, tuple) and all(isinstance(name, str) for name in value) else None


def has_nameless(mesh: MeshCall, resolver: Resolver) -> bool:
    """Whether a mesh gets None for the name of an axis."""
    value = resolver.value(mesh.call, mesh.module)
    names = argument(value.arguments, 1, "axis_names") if isinstance(value, Application) else None
    listed = resolver.container(names.expression, names.module) if names is not None and names.expression else None
    if listed is None or not isinstance(listed[0], ast.Tuple | ast.List):
        return False
    return any(resolver.values(one, listed[1]) == (Constant(None),) for one in listed[0].elts)


def fixed_size(node: ast.expr, module: Module, resolver: Resolver) -> int | None:
    """The number of devices that a shape asks for, where every number in it is written down and is not -1."""
    elements = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    size = 1
    for element in elements:
        value = resolver.value(element, module) if isinstance(element, ast.Constant) else None
        if not isinstance(value, Constant) or not isinstance(value.value, int) or isinstance(value.value, bool):
            return None
        size *= value.value
    return size if size > 1 else None


Shape = tuple[tuple[ast.expr, Module] | None, int | None]


def _devices(node: ast.expr, module: Module, resolver: Resolver) -> Shape:
    """The shape of an array of devices, if it is given one, and its number of dimensions, if that is known."""
    value = resolver.value(node, module)
    if not isinstance(value, Application):
        return (None, None)
    first = argument(value.arguments, 0)
    operand = first.expression if first is not None else None
    match value.callee:
        case External(name=name) if name in DEVICES:
            return (None, 1)
        case External(name=name) if name in ARRAYS and first is not None and operand is not None:
            return _devices(operand, first.module, resolver)
        case External(name=name) if name in DEVICE_MESHES and first is not None and operand is not None:
            return ((operand, first.module), _length(operand, first.module, resolver))
        case External(name=name) if name in RESHAPES and len(value.arguments) == 2:
            given = value.arguments[1]
            if given.expression is not None:
                return ((given.expression, given.module), _length(given.expression, given.module, resolver))
    return _method_reshape(value, resolver)


def _method_reshape(value: Application, resolver: Resolver) -> Shape:
    """`np.array(jax.devices()).reshape(4, 2)`."""
    call = value.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "reshape":
        return (None, None)
    if not _makes_devices(resolver.value(call.func.value, value.module), resolver) or call.keywords or not call.args:
        return (None, None)
    if len(call.args) == 1:
        return ((call.args[0], value.module), _length(call.args[0], value.module, resolver))
    if any(isinstance(one, ast.Starred) for one in call.args):
        return (None, None)
    shape = ast.copy_location(ast.Tuple(list(call.args), ast.Load()), call)
    return ((shape, value.module), len(call.args))


def axes_with_one_device(mesh: Argument, resolver: Resolver) -> frozenset[str]:
    """The axes of a mesh along which there is one device for certain."""
    values = resolver.argument_values(mesh)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Application) and isinstance(value.callee, Function):
        made = resolver.returned(value.callee)
        value = made[0] if len(made) == 1 else None
    if not isinstance(value, Application) or not isinstance(value.node, ast.Call):
        return frozenset()
    call = mesh_call(value.node, value.module, resolver)
    if call is None or call.axes is None:
        return frozenset()
    if call.shape is None:
        first = argument(value.arguments, 0, "devices")
        if first is None or first.expression is None:
            return frozenset()
        lengths = _nested_lengths(first.expression, first.module, resolver)
        if len(lengths) == len(call.axes):
            return frozenset(axis for axis, length in zip(call.axes, lengths, strict=True) if length == 1)
        if len(call.axes) > 1:
            return frozenset()
        return frozenset(call.axes if length_of_devices(first.expression, first.module, resolver) == 1 else ())
    node, module = call.shape
    sizes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    if len(sizes) != len(call.axes):
        return frozenset()
    ones = [isinstance(size, ast.Constant) and resolver.value(size, module) == Constant(1) for size in sizes]
    return frozenset(axis for axis, one in zip(call.axes, ones, strict=True) if one)


def _nested_lengths(node: ast.expr, module: Module, resolver: Resolver) -> list[int]:
    """The lengths of lists in one another, as far as they are written out: `[[[d0, d1]]]`."""
    if isinstance(node, ast.Name):
        named = resolver.bindings(node.id, module.table.scope_of[node])
        bound = named[0] if len(named) == 1 and not named[0].path else None
        return _nested_lengths(bound.value, module, resolver) if bound is not None and bound.value is not None else []
    if (
        not isinstance(node, ast.List | ast.Tuple)
        or not node.elts
        or any(isinstance(n, ast.Starred) for n in node.elts)
    ):
        return []
    first = node.elts[0]
    return [len(node.elts), *(_nested_lengths(first, module, resolver) if not isinstance(first, ast.Name) else ())]


def length_of_devices(node: ast.expr, module: Module, resolver: Resolver) -> int | None:
    """How many devices a list is written to have: `jax.devices()[:1]`, `[jax.devices()[0]]`, or an array of it."""
    if isinstance(node, ast.List | ast.Tuple):
        return None if any(isinstance(one, ast.Starred) for one in node.elts) else len(node.elts)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        upper = node.slice.upper
        plain = node.slice.lower is None and node.slice.step is None and isinstance(upper, ast.Constant)
        count = upper.value if plain and isinstance(upper, ast.Constant) else None
        return (
            count if isinstance(count, int) and _makes_devices(resolver.value(node.value, module), resolver) else None
        )
    value = resolver.value(node, module)
    if isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in ARRAYS:
        first = argument(value.arguments, 0)
        inner = first.expression if first is not None else None
        return length_of_devices(inner, first.module, resolver) if first is not None and inner is not None else None
    named = isinstance(node, ast.Name) and resolver.bindings(node.id, module.table.scope_of[node])
    bound = named[0] if named and len(named) == 1 and not named[0].path else None
    return length_of_devices(bound.value, module, resolver) if bound is not None and bound.value is not None else None


def _makes_devices(value: Value, resolver: Resolver) -> bool:
    if not isinstance(value, Application) or not isinstance(value.callee, External):
        return False
    if value.callee.name in DEVICES:
        return True
    first = argument(value.arguments, 0)
    return (
        value.callee.name in ARRAYS
        and first is not None
        and any(_makes_devices(v, resolver) for v in resolver.argument_values(first))
    )


def _length(node: ast.expr, module: Module, resolver: Resolver) -> int | None:
    """How many dimensions a shape has: one for a number, as many as a tuple has elements."""
    if isinstance(node, ast.Tuple | ast.List):
        return None if any(isinstance(element, ast.Starred) for element in node.elts) else len(node.elts)
    value = resolver.value(node, module)
    if isinstance(value, Constant):
        return len(value.value) if isinstance(value.value, tuple) else 1 if isinstance(value.value, int) else None
    return None
