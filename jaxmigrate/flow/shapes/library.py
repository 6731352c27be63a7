"""What functions of JAX and numpy make of shapes."""
# ruff: noqa: ARG001, ARG005 - handlers of one table take the same arguments

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from jaxmigrate.flow.blocks import functions
from jaxmigrate.flow.shapes import arrays, control, maps, splits
from jaxmigrate.flow.shapes.arrays import MisfitError, as_array, shown
from jaxmigrate.flow.shapes.running import Run
from jaxmigrate.flow.shapes.values import (
    SCALAR,
    UNKNOWN,
    Array,
    Dim,
    Frame,
    Given,
    Library,
    Made,
    Mesh,
    Method,
    Sharding,
    Spec,
    Thing,
    array_of,
    dim_of,
    mapped,
)
from jaxmigrate.program.library import named

Handler: TypeAlias = "Callable[[Run, Given, ast.expr | None, Frame], Thing]"
DEVICES = named("devices")
DEVICE_MESHES = named("device-mesh")
COUNTS = ("device_count", "local_device_count")
GENERATOR = "numpy.random.Generator"


def apply(run: Run, callee: Thing, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    """What calling something else than a function of the program gives."""
    if isinstance(callee, Library):
        return _library(run, callee.name, given, node, frame)
    if isinstance(callee, Made):
        return run.tried(node, frame, lambda: maps.call(run, callee, given, node, frame))
    if isinstance(callee, Method):
        return run.tried(node, frame, lambda: _method(callee, given))
    if callee is UNKNOWN:
        for one in (*given.positional, *given.named.values()):
            run.spoil(one)
    return UNKNOWN


def _library(run: Run, name: str, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    last = name.rpartition(".")[2]
    special = maps.handler(name) or control.HANDLERS.get(name)
    if special is not None:
        return run.tried(node, frame, lambda: special(run, given, node, frame))
    if name in DEVICES or name in DEVICE_MESHES:
        made = _dims(given.find(0, "mesh_shape")) if name in DEVICE_MESHES else None
        return Array(made or (run.simulated,))
    if last in COUNTS and name.startswith("jax."):
        return UNKNOWN if run.simulated is None else run.simulated
    front = name.rpartition(".")[0]
    if front in ("jax.numpy", "numpy", "jax.lax", "jax.nn") and last in FUNCTIONS:
        return run.tried(node, frame, lambda: FUNCTIONS[last](run, given, node, frame))
    if name.startswith("builtins."):
        return _builtin(last, given, run)
    if name.startswith("jax.random."):
        made, out = _random(last, given), given.named.get(maps.OUT_SHARDING)
        return _split_as(run, out, made) if isinstance(made, Array) and out is not None else made
    if name.startswith("numpy.random."):
        return _of_numpy(last, given)
    if not name.startswith(("jax.", "numpy.", "functools.")):
        for one in (*given.positional, *given.named.values()):
            run.spoil(one)
    return _of_elements(run, name, given, node, frame)


def _of_numpy(last: str, given: Given) -> Thing:
    return Library(GENERATOR) if last == "default_rng" else _drawn(last, given)


def _of_elements(run: Run, name: str, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    """What is done to each element of arrays, or along their dimensions."""
    if name in functions.SAME or name in ELEMENTWISE:
        alike = array_of if name in ELEMENTWISE or name in functions.CURVED else _alike
        return mapped(lambda leaf: alike(leaf) or UNKNOWN, given.find(0, "x", "a", otherwise=UNKNOWN))
    if name in functions.TOGETHER:
        found = [array_of(one) for one in given.positional]
        known = [one for one in found if one is not None]
        if not found or len(known) < len(found):
            return UNKNOWN
        return run.tried(node, frame, lambda: arrays.broadcast(known))
    if name in functions.REDUCING:
        return run.tried(node, frame, lambda: _reduced(as_array(given.find(0, "a")), given, 1))
    return UNKNOWN


def _alike(leaf: Thing) -> Array | None:
    """An array of the same shape, of which it is not known how it is split."""
    array = array_of(leaf)
    return None if array is None else Array(array.dims)


ELEMENTWISE = frozenset(f"jax.lax.{one}" for one in ("sqrt", "tanh", "abs", "square", "erf", "log1p", "logistic"))


def _dims(shape: Thing) -> tuple[Dim, ...] | None:
    """A shape that something is given."""
    if type(shape) in (tuple, list):
        return tuple(dim_of(one) for one in shape)
    return (shape,) if dim_of(shape) is not None else None


def _shaped(shape: Thing) -> Array | None:
    dims = _dims(shape)
    return None if dims is None else Array(dims)


def _reduced(array: Array | None, given: Given, at: int) -> Array | None:
    if array is None:
        return None
    kept = given.find(None, "keepdims", otherwise=False)
    return arrays.reduced(array, given.find(at, "axis"), kept=bool(kept)) if isinstance(kept, bool) else None


def _random(last: str, given: Given) -> Thing:
    """Keys, and what is drawn by one."""
    if last in ("key", "fold_in", "wrap_key_data"):
        return given.find(0) if last == "fold_in" else SCALAR
    if last == "PRNGKey":
        return Array((2,))
    if last == "split":
        key, count = given.find(0, "key"), given.find(1, "num", otherwise=2)
        front = _dims(count)
        return Array((*front, *key.dims)) if isinstance(key, Array) and front is not None else UNKNOWN
    position = functions.SHAPED.get(f"jax.random.{last}")
    if position is None:
        return UNKNOWN
    shape = given.find(position, "shape")
    return (_shaped(shape) or UNKNOWN) if shape is not None else SCALAR if position == 1 else UNKNOWN


def _drawn(last: str, given: Given) -> Thing:
    if last in ("rand", "randn"):
        return Array(tuple(dim_of(one) for one in given.positional))
    shape = given.find(None, "size")
    if last not in functions.DRAWING_METHODS or shape is None:
        return UNKNOWN
    return _shaped(shape) or UNKNOWN


def _builtin(last: str, given: Given, run: Run) -> Thing:
    first = given.find(0)
    if last == "len":
        found = run.items(first) if not isinstance(first, Array) else None
        if isinstance(first, Array) and first.dims and first.dims[0] is not None:
            return first.dims[0]
        return UNKNOWN if found is None else len(found)
    if last == "range":
        whole = given.positional and all(type(one) is int for one in given.positional)
        return range(*given.positional) if whole else UNKNOWN
    if last in ("tuple", "list"):
        found = run.items(first) if given.positional else []
        return UNKNOWN if found is None else tuple(found) if last == "tuple" else found
    if last == "dict" and not given.positional:
        return dict(given.named)
    if last == "zip":
        columns = [run.items(one) for one in given.positional]
        known = [one for one in columns if one is not None]
        return list(zip(*known, strict=False)) if len(known) == len(columns) else UNKNOWN
    if last == "enumerate":
        found = run.items(first)
        return UNKNOWN if found is None else list(enumerate(found))
    if last in ("min", "max") and len(given.positional) > 1 and all(type(n) is int for n in given.positional):
        return min(given.positional) if last == "min" else max(given.positional)
    if last in ("int", "float", "abs") and type(first) in (int, float):
        return int(first) if last == "int" else float(first) if last == "float" else abs(first)
    return UNKNOWN


def _method(callee: Method, given: Given) -> Thing:
    """A method of an array."""
    array, name = callee.array, callee.name
    if name == "at" or name in functions.SAME_METHODS:
        return array
    if name in functions.REDUCING_METHODS:
        return _reduced(array, given, 0)
    if name == "reshape":
        first = given.find(0, "shape")
        whole = first if type(first) in (tuple, list) else given.positional
        known = all(type(one) is int for one in whole)  # one that is not may be a tuple
        return arrays.reshaped(array, whole) if whole and (known or len(whole) > 1 or whole is first) else None
    if name in ("ravel", "flatten"):
        return Array((arrays.size(array.dims),))
    if name == "transpose":
        order = given.positional[0] if given.positional and type(given.positional[0]) is tuple else given.positional
        return _transposed(array, order or None)
    handler = OF_ONE.get(name)
    return handler(array, Given((array, *given.positional), given.named)) if handler is not None else None


def _transposed(array: Array, order: Thing) -> Array | None:
    if order is None:
        return Array(array.dims[::-1])
    found = arrays.axes_of(order, len(array.dims))
    return None if found is None or len(found) != len(array.dims) else Array(tuple(array.dims[n] for n in found))


def _swapped(array: Array, given: Given) -> Array | None:
    found = arrays.axes_of(tuple(given.positional[1:3]), len(array.dims))
    if found is None or len(found) != 2:
        return None
    order = list(range(len(array.dims)))
    order[found[0]], order[found[1]] = found[1], found[0]
    return Array(tuple(array.dims[n] for n in order))


def _squeezed(array: Array, given: Given) -> Array | None:
    axis = given.find(1, "axis", "dimensions")
    if axis is None:
        return None if None in array.dims else Array(tuple(one for one in array.dims if one != 1))
    found = arrays.axes_of(axis, len(array.dims))
    if found is None:
        return None
    if any(array.dims[n] not in (1, None) for n in found):
        raise MisfitError(f"squeeze of dimension {found[0]} of an array of shape {shown(array.dims)}")
    return Array(tuple(one for n, one in enumerate(array.dims) if n not in found))


def _expanded(array: Array, given: Given) -> Array | None:
    axis = given.find(1, "axis", "dimensions")
    found = axis if type(axis) in (tuple, list) else (axis,)
    if not all(type(one) is int for one in found):
        return None
    rank = len(array.dims) + len(found)
    places, rest = {one % rank for one in found}, iter(array.dims)
    return Array(tuple(1 if n in places else next(rest) for n in range(rank)))


OF_ONE: dict[str, Callable[[Array, Given], Array | None]] = {
    "squeeze": _squeezed,
    "expand_dims": _expanded,
    "swapaxes": _swapped,
    "transpose": lambda array, given: _transposed(array, given.find(1, "axes")),
    "reshape": lambda array, given: (
        None if _dims(given.find(1, "shape", "newshape")) is None and type(given.find(1, "shape")) is not int
        else arrays.reshaped(array, _listed(given.find(1, "shape", "newshape")))
    ),
    "ravel": lambda array, given: Array((arrays.size(array.dims),)),
    "diag": lambda array, given: Array(array.dims * 2) if len(array.dims) == 1 else Array((None,)),
    "sort": lambda array, given: _alike(array),
    "triu": lambda array, given: _alike(array),
    "tril": lambda array, given: _alike(array),
}  # fmt: skip


def _listed(shape: Thing) -> Sequence[Thing]:
    return shape if type(shape) in (tuple, list) else (shape,)


def _of_one(make: Callable[[Array, Given], Array | None]) -> Handler:
    def handle(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
        array = as_array(given.find(0, "a", "x", "operand", "arr"))
        return None if array is None else make(array, given)

    return handle


def _new(position: int) -> Handler:
    return lambda run, given, node, frame: _shaped(given.find(position, "shape"))


def _like(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    return mapped(lambda leaf: _alike(leaf) or UNKNOWN, given.find(0, "a", "x", otherwise=UNKNOWN))


def _array(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    return as_array(given.find(0, "object", "a"))


def _counted(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    numbers = given.positional[:3]
    if not all(type(one) in (int, float) for one in numbers) or {"start", "stop", "step"} & given.named.keys():
        return Array((None,))
    start, stop, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    return Array((max(0, math.ceil((stop - start) / step)) if step else None,))


def _spaced(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    return Array((dim_of(given.find(2, "num", otherwise=50)),))


def _square(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    rows = dim_of(given.find(0, "N"))
    return Array((rows, rows if given.find(1, "M") is None else dim_of(given.find(1, "M"))))


def _product(make: Callable[[Array, Array], Array | None]) -> Handler:
    def handle(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
        one, other = as_array(given.find(0, "a")), as_array(given.find(1, "b"))
        if one is None or other is None:
            return None
        if (out := given.named.get(maps.OUT_SHARDING)) is not None:
            return _split_as(run, out, make(Array(one.dims), Array(other.dims)))
        return make(one, other)

    return handle


def _einsum(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    found = [array_of(one) for one in given.positional[1:]]
    known = [one for one in found if one is not None]
    terms = given.find(0)
    if not isinstance(terms, str) or len(known) < len(found):
        return None
    if (out := given.named.get(maps.OUT_SHARDING)) is not None:
        return _split_as(run, out, arrays.einsum(terms, known))
    return splits.einsum(terms, known)


def _split_as(run: Run, out: Thing, made: Array | None) -> Thing:
    """A result that is told how it is to be split."""
    mesh, spec = out if isinstance(out, Sharding) else (run.context, out)
    mesh = mesh if isinstance(mesh, Mesh) else None
    if made is None or not isinstance(spec, Spec):
        return made
    maps.explicit_alone(run, spec, mesh, maps.OUT_SHARDING)
    return Array(made.dims, splits.of_spec(spec, mesh, len(made.dims)))


def _chosen(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    found = [array_of(one) for one in given.positional]
    known = [one for one in found if one is not None]
    return arrays.broadcast(known) if len(known) == len(found) == 3 else None


def _joined(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    parts, axis = run.items(given.find(0, "arrays", "operands")), given.find(1, "axis", "dimension", otherwise=0)
    found = [as_array(one) for one in parts or ()]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found) or type(axis) is not int:
        return None
    rank = len(known[0].dims)
    if any(len(one.dims) != rank for one in known) or not -rank <= axis < rank:
        return None
    rows = list(zip(*(one.dims for one in known), strict=True))
    made: list[Dim] = []
    for number, row in enumerate(rows):
        if number == axis % rank:
            made.append(None if None in row else sum(n for n in row if n is not None))
        else:
            lengths = set(row) - {None}
            if len(lengths) > 1:
                raise MisfitError(
                    f"arrays of shapes {' and '.join(shown(one.dims) for one in known)} are put side by side"
                )
            made.append(lengths.pop() if lengths else None)
    return Array(tuple(made))


def _stacked(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    parts, axis = run.items(given.find(0, "arrays")), given.find(1, "axis", otherwise=0)
    found = [as_array(one) for one in parts or ()]
    known = [one for one in found if one is not None]
    return arrays.stacked(known) if axis == 0 and known and len(known) == len(found) else None


def _to(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    return _shaped(given.find(1, "shape"))


def _hot(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    array = as_array(given.find(0, "x"))
    return None if array is None else Array((*array.dims, dim_of(given.find(1, "num_classes"))))


def _along(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    """`take_along_axis`: as many as there are indices."""
    array, chosen, axis = as_array(given.find(0)), as_array(given.find(1)), given.find(2, "axis")
    if array is None or chosen is None or type(axis) is not int:
        return None
    if len(array.dims) != len(chosen.dims):
        raise MisfitError(f"take_along_axis of shapes {shown(array.dims)} and {shown(chosen.dims)}")
    return Array((None,) * len(array.dims))


def _norm(array: Array, given: Given) -> Array | None:
    return _reduced(array, given, 2)


FUNCTIONS: dict[str, Handler] = {
    **{name: _of_one(make) for name, make in OF_ONE.items()},
    **{name: _new(0) for name in ("zeros", "ones", "empty", "full")},
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"), _like),
    **dict.fromkeys(("array", "asarray", "float32", "int32", "ascontiguousarray"), _array),
    "arange": _counted,
    "linspace": _spaced,
    "eye": _square,
    "identity": _square,
    "matmul": _product(splits.product),
    "dot": _product(splits.dot),
    "outer": _product(lambda one, other: Array((arrays.size(one.dims), arrays.size(other.dims)))),
    "einsum": _einsum,
    "where": _chosen,
    "select": _chosen,
    "concatenate": _joined,
    "stack": _stacked,
    "broadcast_to": _to,
    "one_hot": _hot,
    "take_along_axis": _along,
    "norm": _of_one(_norm),
}  # fmt: skip
