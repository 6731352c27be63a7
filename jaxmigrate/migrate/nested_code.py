"""The functions that stand in for maps of maps: one over two axes in place, two that share a mesh in a body."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from jaxmigrate.migrate.helper import Names
from jaxmigrate.migrate.imports import used_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import MappedSite

INNER_AXIS = "inner_axis"


def nested_lines(names: Names) -> list[str]:
    """The source of the helper for a map of a map: one map over a mesh of two axes.

    Collectives over both axes number the devices in row-major order, as nested maps did.
    """
    jax = names.jax
    return [
        f"def {names.nested}(fun, axis_name, *, donate_argnums=()):",
        '    """Maps fun over the two leading axes of stacked arrays, one slice per device."""',
        "",
        "    def mapped(*args, **kwargs):",
        "        def block(args, kwargs):",
        f"            args, kwargs = {jax}.tree.map(",
        f"                lambda x: {jax}.lax.squeeze(x, (0, 1)), (args, kwargs)",
        "            )",
        "            out = fun(*args, **kwargs)",
        f"            return {jax}.tree.map(lambda x: {jax}.lax.expand_dims(x, (0, 1)), out)",
        "",
        f"        first, *_ = {jax}.tree.leaves((args, kwargs))",
        "        outer, inner, *_ = first.shape",
        f"        devices = {jax}.devices()",
        "        rows = [devices[i * inner : (i + 1) * inner] for i in range(outer)]",
        f"        mesh = {names.mesh}(rows, axis_name)",
        f"        spec = {names.spec}(*axis_name)",
        f"        return {jax}.shard_map(",
        "            block, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False",
        "        )(args, kwargs)",
        "",
        f"    return {jax}.jit(mapped, donate_argnums=donate_argnums)",
    ]


def inside_names(module: Module, names: Names) -> Names:
    """The names with free ones for what a map inside a map needs."""
    used = used_names(module)
    return replace(names, inside=_free(names.inside, used), inner=_free(names.inner, used))


def _free(name: str, used: Collection[str]) -> str:
    while name in used:
        name += "_"
    return name


def inner_axis_lines(names: Names) -> list[str]:
    """The source of the exception by which a map inside asks for its axis."""
    return [
        f"class {names.inner}(Exception):",
        '    """Asks the outer map for a second mesh axis, by its name and size."""',
    ]


def inside_lines(names: Names, sites: Sequence[MappedSite]) -> list[str]:
    """The source of the helper for maps inside; it takes the keywords that some of these sites is given."""
    given = {a.keyword for site in sites for a in site.arguments}
    in_axes, out_axes = "in_axes" in given, "out_axes" in given
    unnamed = any(site.keyword("axis_name") is None for site in sites)
    axis = f'axis_name="{INNER_AXIS}"' if unnamed else "axis_name"
    keywords = [*(["in_axes=0"] if in_axes else []), *(["out_axes=0"] if out_axes else [])]
    parameters = ["fun", axis, *(["*", *keywords] if keywords else [])]
    return [
        f"def {names.inside}({', '.join(parameters)}):",
        '    """Maps fun inside a map, over a second mesh axis, and gathers its results there."""',
        "",
        *([] if not keywords else [f"    {line}" if line else "" for line in _per_axis_lines(names)]),
        *(f"    {line}" if line else "" for line in _gather_lines(names, out_axes)),
        "",
        *(f"    {line}" if line else "" for line in _mapped_lines(names, in_axes)),
        "",
        "    return mapped",
    ]


def _per_axis_lines(names: Names) -> list[str]:
    return [
        "def per_axis(f, axes, *trees):",
        f"    return {names.jax}.tree.map(f, axes, *trees, is_leaf=lambda axis: axis is None)",
        "",
    ]


def _gather_lines(names: Names, out_axes: bool) -> Iterator[str]:
    jax = names.jax
    yield f"@{jax}.custom_jvp"
    yield "def gathered(out):"
    if out_axes:
        yield "    def gather(axis, tree):"
        yield "        if axis is None:"
        yield "            return tree"
        yield f"        return {jax}.tree.map("
        yield f"            lambda x: {jax}.lax.all_gather(x, axis_name, axis=axis), tree"
        yield "        )"
        yield ""
        yield "    return per_axis(gather, out_axes, out)"
    else:
        yield f"    return {jax}.tree.map(lambda x: {jax}.lax.all_gather(x, axis_name), out)"
    yield ""
    yield "@gathered.defjvp"
    yield "def no_gradient(primals, tangents):"
    yield '    raise NotImplementedError("take gradients inside the inner map")'


def _mapped_lines(names: Names, in_axes: bool) -> Iterator[str]:
    """The map itself; like pmap, a ValueError where nothing that is mapped has the axis."""
    jax = names.jax
    yield "def mapped(*args, **kwargs):"
    if in_axes:
        yield from (f"    {line}" if line else "" for line in _axis_lines(jax))
        yield "    rows = per_axis(sizes, (in_axes, 0), (args, kwargs))"
        yield f"    rows, *_ = {jax}.tree.leaves(rows)"
    else:
        yield f"    first, *_ = {jax}.tree.leaves((args, kwargs))"
        yield f"    rows, *_ = {jax}.numpy.shape(first)"
    yield "    try:"
    yield f"        size = {jax}.lax.axis_size(axis_name)"
    yield "    except NameError:"
    yield f"        raise {names.inner}(axis_name, rows) from None"
    yield "    if size != rows:"
    yield '        raise ValueError(f"inner maps differ in rows: {size} and {rows}")'
    yield f"    index = {jax}.lax.axis_index(axis_name)"
    if in_axes:
        yield "    args, kwargs = per_axis(row, (in_axes, 0), (args, kwargs))"
    else:
        yield f"    args, kwargs = {jax}.tree.map("
        yield f"        lambda x: {jax}.lax.dynamic_index_in_dim(x, index, keepdims=False),"
        yield "        (args, kwargs),"
        yield "    )"
    yield "    return gathered(fun(*args, **kwargs))"


def _axis_lines(jax: str) -> Iterator[str]:
    yield "def sizes(axis, tree):"
    yield "    if axis is None:"
    yield "        return []"
    yield f"    shapes = map({jax}.numpy.shape, {jax}.tree.leaves(tree))"
    yield "    return [n for shape in shapes for n in shape[axis : axis + 1]]"
    yield ""
    yield "def row(axis, tree):"
    yield "    if axis is None:"
    yield "        return tree"
    yield f"    take = {jax}.lax.dynamic_index_in_dim"
    yield f"    return {jax}.tree.map(lambda x: take(x, index, axis, keepdims=False), tree)"
    yield ""
