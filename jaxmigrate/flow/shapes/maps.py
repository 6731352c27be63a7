"""Meshes, specs and shardings, and what JAX makes of functions, by shapes."""
# ruff: noqa: ARG001, ARG005 - handlers of one table take the same arguments

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from jaxmigrate.flow.axes import shown as shown_names
from jaxmigrate.flow.shapes import splits
from jaxmigrate.flow.shapes.arrays import as_array, shown
from jaxmigrate.flow.shapes.control import leaves, times
from jaxmigrate.flow.shapes.running import Run
from jaxmigrate.flow.shapes.values import (
    UNKNOWN,
    Array,
    Dim,
    Frame,
    Given,
    Library,
    Made,
    Mesh,
    Sharding,
    Spec,
    Thing,
    along,
    array_of,
    dim_of,
    mapped,
)
from jaxmigrate.program.collectives import GRADIENTS, MAKE_MESH, MESHES, PMAPS, SHARD_MAPS, SPECS, TRANSPARENT, VMAP
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.library import named, valued
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.terminal import plural

JITS = named("jit")
SETTERS = named("sets-mesh")
SHARDED = {name: int(position) for name, position in valued("shards").items()}
NAMED_SHARDING = "jax.sharding.NamedSharding"
PLACING = "jax.device_put"
RESHARD, CONSTRAINT, OUT_SHARDING, AUTO = "reshard", "with_sharding_constraint", "out_sharding", "Auto"
ENTERS = re.compile(r"(set|use)_mesh|\bwith\b[^\n]*mesh", re.IGNORECASE)
# What asks for a mesh in context where it is given a spec alone
BARE = {
    **{f"{name}: an array": f"{name} is given a spec" for name in (RESHARD, CONSTRAINT, "device_put")},
    "in_shardings: an argument": "in_shardings has a spec",
    "out_shardings: a result": "out_shardings has a spec",
}
Handler = Callable[[Run, Given, "ast.expr | None", Frame], Thing]


def handler(name: str) -> Handler | None:
    """What a function of JAX does that makes meshes, specs, maps and the like."""
    if name in SPECS:
        return _spec
    if name == MAKE_MESH or name in MESHES:
        return _made_mesh if name == MAKE_MESH else _mesh
    if name == NAMED_SHARDING:
        return _sharding
    if name in SETTERS:
        return _set_mesh
    if name in SHARDED:
        return lambda run, given, node, frame: _placed(run, given, SHARDED[name], name)
    if name in PARTIALS:
        return _partial
    kind = "shard_map" if name in SHARD_MAPS else "jit" if name in JITS else "vmap" if name == VMAP else ""
    kind = "pmap" if name in PMAPS else kind
    if name in GRADIENTS:
        kind = name.rpartition(".")[2]
    if not kind and name in TRANSPARENT:
        kind = "same"
    return (lambda run, given, node, frame: _make(kind, name, given)) if kind else None


def _make(kind: str, name: str, given: Given) -> Thing:
    function = given.find(0, "f", "fun")
    if function is None:  # a decorator is made
        return Made("partial", Library(name), given)
    options = {n: v for n, v in given.named.items() if n not in ("f", "fun")}
    if kind == "shard_map":
        options |= dict(zip(("mesh", "in_specs", "out_specs"), given.positional[1:], strict=False))
    return Made(kind, function, Given((), options))


def _partial(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    if not given.positional:
        return UNKNOWN
    return Made("partial", given.positional[0], Given(given.positional[1:], given.named))


def call(run: Run, made: Made, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    """What calling a function gives that JAX made."""
    match made.kind:
        case "partial":
            whole = Given((*made.given.positional, *given.positional), {**made.given.named, **given.named})
            return run.call(made.function, whole, node, frame)
        case "shard_map":
            return _shard_map(run, made, given, node, frame)
        case "jit":
            return _jit(run, made, given, node, frame)
        case "vmap":
            return _vmap(run, made, given, node, frame)
        case "pmap":
            if isinstance(run.context, Mesh) and not run.compiling:
                run.note(node, frame.module, "a pmap is called where jax.set_mesh has set a mesh")
            return UNKNOWN
        case "same":
            return run.call(made.function, given, node, frame)
        case "grad" | "value_and_grad":
            return _gradient(run, made, given, node, frame)
    return UNKNOWN


# Meshes and specs


def _spec(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    if node is None or given.named:
        return UNKNOWN
    return Spec(tuple(_axes(one) for one in given.positional), node, frame.module)


def _axes(entry: Thing) -> tuple[str, ...] | None:
    found = () if entry is None else entry if type(entry) in (tuple, list) else (entry,)
    return tuple(found) if all(isinstance(one, str) for one in found) else None


def _is_foreign(run: Run, spec: Thing, mesh: Mesh) -> bool:
    """Whether a spec names an axis that its mesh does not have, which is noted."""
    named = [axis for entry in spec.entries for axis in entry or ()] if isinstance(spec, Spec) else []
    foreign = next((axis for axis in named if axis not in mesh.sizes), None)
    if foreign is not None:
        run.note(spec.node, spec.module, f"the mesh has no axis {foreign!r}, only {shown_names(frozenset(mesh.sizes))}")
    return foreign is not None


def twice(spec: Spec) -> list[str]:
    """The axes that a spec names more than once."""
    named = [axis for entry in spec.entries for axis in entry or ()]
    return sorted({axis for axis in named if named.count(axis) > 1})


def _mesh(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    held, names = given.find(0, "devices"), given.find(1, "axis_names")
    array = held if isinstance(held, Array) else as_array(held) if type(held) in (tuple, list) else None
    return _typed(run, _of_sizes(names, array.dims if array is not None else None), given, AUTO, node, frame)


def _made_mesh(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    shape, names = given.find(0, "axis_shapes"), given.find(1, "axis_names")
    made = _of_sizes(names, tuple(dim_of(one) for one in shape) if type(shape) in (tuple, list) else None)
    return _typed(run, made, given, "", node, frame)  # Explicit since 0.9, Auto before


def _typed(run: Run, mesh: Thing, given: Given, otherwise: str, node: ast.expr | None, frame: Frame) -> Thing:
    """A mesh with the type of its axes, where that is one for all."""
    types = given.named.get("axis_types")
    if not isinstance(mesh, Mesh) or types is None:
        return mesh._replace(type=otherwise) if isinstance(mesh, Mesh) else mesh
    if type(types) is not tuple:
        return mesh
    if len(types) != len(mesh.sizes):
        told = f"a mesh with {plural(len(mesh.sizes), 'name')} is given {plural(len(types), 'axis type')}"
        run.note(node, frame.module, told)
        return mesh
    names = {one.name.rpartition(".")[2] if isinstance(one, Library) else "" for one in types}
    return mesh._replace(type=names.pop()) if len(names) == 1 else mesh


def _of_sizes(names: Thing, dims: tuple[Dim, ...] | None) -> Thing:
    axes = (names,) if isinstance(names, str) else names
    if type(axes) not in (tuple, list) or not all(isinstance(one, str) for one in axes):
        return UNKNOWN
    if dims is None or len(dims) != len(axes):
        dims = (None,) * len(axes)
    return Mesh(dict(zip(axes, dims, strict=True)))


def _set_mesh(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    mesh = given.find(0, "mesh")
    if run.compiling:
        run.note(node, frame.module, "set_mesh is called in what jit compiles")
    run.context = mesh if isinstance(mesh, Mesh) else UNKNOWN
    return UNKNOWN


def _sharding(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    mesh, spec = given.find(0, "mesh"), given.find(1, "spec")
    if isinstance(mesh, Mesh) and isinstance(spec, Spec):
        _is_foreign(run, spec, mesh)
        for axis in twice(spec):
            run.note(spec.node, spec.module, f"a spec splits two dimensions over {axis!r}")
    return Sharding(mesh if isinstance(mesh, Mesh) else None, spec) if isinstance(spec, Spec) else UNKNOWN


def _context(run: Run) -> Mesh | None:
    return run.context if isinstance(run.context, Mesh) else None


def _parts_of(spec: Spec, mesh: Mesh | None) -> list[Dim]:
    """How many parts each entry of a spec makes of a dimension."""
    found: list[Dim] = []
    for entry in spec.entries:
        parts: Dim = 1
        for axis in entry or ():
            parts = times(parts, mesh.sizes.get(axis) if mesh is not None else None)
        found.append(parts if entry is not None else None)
    return found


def _checked(run: Run, sharding: Thing, leaf: Thing, what: str, *, even: bool = True) -> None:
    """Notes a spec that an array does not fit."""
    mesh, spec = sharding if isinstance(sharding, Sharding) else (_context(run), sharding)
    if isinstance(sharding, Spec) and run.context is None and what in BARE and not _may_have_context(run, sharding):
        run.note(sharding.node, sharding.module, f"{BARE[what]} without its mesh, and jax.set_mesh has set none")
        return
    array = array_of(leaf)
    if not isinstance(spec, Spec) or array is None:
        return
    if len(spec.entries) > len(array.dims):
        rank = len(array.dims)
        has = f"has {plural(rank, 'dimension')}" if rank else "is a single number"
        run.note(spec.node, spec.module, f"{what} {has}, but this spec is for {len(spec.entries)}")
        return
    for length, parts in zip(array.dims, _parts_of(spec, mesh), strict=False):
        if even and length is not None and parts and length % parts:
            told = f"{what} of shape {shown(array.dims)} cannot be split evenly: {length} among {parts} devices"
            run.note(spec.node, spec.module, told)


def _each(run: Run, prefix: Thing, tree: Thing, what: str, *, even: bool = True) -> None:
    def look(sharding: Thing, leaf: Thing) -> Thing:
        _checked(run, sharding, leaf, what, even=even)
        return None

    along(look, prefix, tree)


def _placed(run: Run, given: Given, position: int, name: str) -> Thing:
    """`device_put`, and constraints within jit, which need not split evenly."""
    tree = given.find(0, "x", otherwise=UNKNOWN)
    last = name.rpartition(".")[2]
    where = given.find(position, "shardings", "out_shardings", "device")
    _each(run, where, tree, f"{last}: an array", even=name == PLACING)

    def place(sharding: Thing, leaf: Thing) -> Thing:
        array = as_array(leaf)
        mesh, spec = sharding if isinstance(sharding, Sharding) else (_context(run), sharding)
        if array is None or not isinstance(spec, Spec):
            return array or UNKNOWN
        if last == RESHARD:
            explicit_alone(run, spec, mesh, last)
        split = splits.of_spec(spec, mesh, len(array.dims))
        if last == CONSTRAINT and None not in (split, array.split) and split != array.split:
            told = "with_sharding_constraint only asserts on an Explicit mesh, and this array is split as "
            run.note(spec.node, spec.module, f"{told}{splits.written(array.split or ())}; write jax.sharding.reshard")
        return Array(array.dims, split)

    made = along(place, where, tree) if where is not None else UNKNOWN
    return made if made is not UNKNOWN else mapped(lambda leaf: as_array(leaf) or UNKNOWN, tree)


def explicit_alone(run: Run, spec: Thing, mesh: Mesh | None, what: str) -> None:
    """Notes a spec for what only Explicit axes can be given, on a mesh of others."""
    mesh = mesh if mesh is not None else _context(run)
    named = [axis for entry in spec.entries for axis in entry or ()] if isinstance(spec, Spec) else []
    if mesh is not None and mesh.type == AUTO and any(axis in mesh.sizes for axis in named):
        told = f"{what} takes Explicit axes, and those of this mesh are Auto; write jax.lax.with_sharding_constraint"
        run.note(spec.node, spec.module, told)


def _may_have_context(run: Run, spec: Spec) -> bool:
    """Whether something that is not followed may have entered a mesh."""
    return bool(run.entered_others) or any(ENTERS.search(text) for text in texts_beside(spec.module, run.resolver))


# Functions


def _jit(run: Run, made: Made, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    options = made.given.named
    shardings = options.get("in_shardings")
    if shardings is not None and not given.named and not options.keys() & {"static_argnums", "static_argnames"}:
        if type(shardings) is tuple and len(shardings) != len(given.positional):
            passed = plural(len(given.positional), "argument")
            run.note(node, frame.module, f"in_shardings has {len(shardings)} entries for {passed}")
        _each(run, shardings, tuple(given.positional), "in_shardings: an argument")
    run.compiling += 1
    try:
        result = run.call(made.function, given, node, frame)
    finally:
        run.compiling -= 1
    if options.get("out_shardings") is not None:
        _each(run, options["out_shardings"], result, "out_shardings: a result")
    return result


def _shard_map(run: Run, made: Made, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    mesh = made.given.named.get("mesh")
    if mesh is None:
        mesh = run.context
        _in_context(run, made, node, frame)
    ins, outs = made.given.named.get("in_specs", UNKNOWN), made.given.named.get("out_specs", UNKNOWN)
    if not isinstance(mesh, Mesh) or given.named or "axis_names" in made.given.named or "auto" in made.given.named:
        return UNKNOWN
    arguments = tuple(given.positional)
    if any(_is_foreign(run, spec, mesh) for spec in leaves((ins, outs))):
        return UNKNOWN

    def block(spec: Thing, leaf: Thing) -> Thing:
        _checked(run, Sharding(mesh, spec) if isinstance(spec, Spec) else spec, leaf, "in_specs: an argument")
        array = array_of(leaf)
        split = splits.of_spec(spec, mesh, len(array.dims)) if array is not None and isinstance(spec, Spec) else None
        if array is not None and None not in (split, array.split) and split != array.split:
            told = f"in_specs: the array on an Explicit mesh is split as {splits.written(array.split or ())} already"
            run.note(spec.node, spec.module, told)
        return UNKNOWN if array is None or not isinstance(spec, Spec) else _block(array, spec, mesh, _divided)

    def whole(spec: Thing, leaf: Thing) -> Thing:
        _checked(run, spec, leaf, "out_specs: a result", even=False)
        array = array_of(leaf)
        return UNKNOWN if array is None or not isinstance(spec, Spec) else _block(array, spec, mesh, times)

    blocks = along(block, ins, arguments)
    if type(blocks) is not tuple:
        return UNKNOWN
    before, run.axes = (run.axes, run.checked), {**run.axes, **mesh.sizes}
    checks = made.given.named.get("check_vma", made.given.named.get("check_rep", True)) is True
    run.checked = frozenset(mesh.sizes) if checks and not before[1] else frozenset()
    try:
        result = run.call(made.function, Given(blocks, {}), node, frame)
    finally:
        run.axes, run.checked = before
    return along(whole, outs, result)


def _in_context(run: Run, made: Made, node: ast.expr | None, frame: Frame) -> None:
    """Notes a map without a mesh that is called where none is set, or another than at its first call."""
    if run.context is None:
        run.note(node, frame.module, "a shard_map without a mesh is called here, and jax.set_mesh has set none")
    elif isinstance(run.context, Mesh) and not run.quiet:
        _, first = run.first_meshes.setdefault(id(made.given.named), (made, run.context))
        if first != run.context:
            told = "a shard_map without a mesh keeps the one of its first call, and another is set here"
            run.note(node, frame.module, told)


def _block(array: Array, spec: Spec, mesh: Mesh, change: Callable[[Dim, Dim], Dim]) -> Thing:
    if len(spec.entries) > len(array.dims):
        return UNKNOWN
    parts = [*_parts_of(spec, mesh), *[1] * len(array.dims)]
    return Array(tuple(change(length, part) for length, part in zip(array.dims, parts, strict=False)))


def _divided(length: Dim, parts: Dim) -> Dim:
    return length if parts == 1 else None if length is None or not parts or length % parts else length // parts


def _vmap(run: Run, made: Made, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    options = made.given.named
    axes = options.get("in_axes", 0)
    spread = axes if type(axes) in (tuple, list) else (axes,) * len(given.positional)
    out = options.get("out_axes", 0)
    named_axis = options.get("axis_name")
    if given.named or len(spread) != len(given.positional) or out != 0 or type(out) is not int:
        return UNKNOWN
    lengths: list[Dim] = []

    def row(axis: Thing, leaf: Thing) -> Thing:
        array = array_of(leaf)
        if array is None or axis is UNKNOWN or (axis is not None and type(axis) is not int):
            return UNKNOWN
        if axis is None:
            return leaf
        if not -len(array.dims) <= axis < len(array.dims):
            return UNKNOWN
        dims = list(array.dims)
        lengths.append(dims.pop(axis))
        return Array(tuple(dims))

    rows = tuple(
        mapped(lambda leaf: leaf, one) if axis is None else along(row, axis, one)
        for axis, one in zip(spread, given.positional, strict=True)
    )
    length = next((one for one in lengths if one is not None), None)
    before = run.axes
    if isinstance(named_axis, str):
        run.axes = {**run.axes, named_axis: length}
    result = run.call(made.function, Given(rows, {}), node, frame)
    run.axes = before
    return mapped(lambda leaf: UNKNOWN if (array := array_of(leaf)) is None else Array((length, *array.dims)), result)


def _gradient(run: Run, made: Made, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    options = made.given.named
    number, beside = options.get("argnums", 0), options.get("has_aux", False)
    result = run.call(made.function, given, node, frame)
    if type(number) is not int or not isinstance(beside, bool) or not -1 < number < len(given.positional):
        return UNKNOWN
    slopes = mapped(lambda leaf: array_of(leaf) or UNKNOWN, given.positional[number])
    if made.kind == "value_and_grad":
        return result, slopes
    if beside:
        return slopes, (result[1] if type(result) is tuple and len(result) == 2 else UNKNOWN)
    return slopes


__all__ = ["call", "handler", "leaves"]
