"""The `_shard_map` of a file whose specs are trees: named tuples some of whose fields are stacked arrays."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.migrate.global_helpers import COMPILED, GlobalNames, MapNeeds, compiled_lines, head_lines, mesh_lines


def shard_map_lines(names: GlobalNames, needs: MapNeeds, axis: str, literal: str) -> Iterator[str]:
    """`jax.shard_map` for specs in which one spec says that an array has a device axis, which the function never sees.

    Trees of specs are prefixes of the trees that they are for, as they are for `jax.shard_map` itself. `literal` is the
    axis where its constant may not be bound yet.
    """
    jax = names.jax
    if needs.stacked or needs.stacked_outputs:
        mark = '"stacked"' if needs.split else f"{names.spec}({literal})"
        yield f"{names.stacked} = {mark}  # of arrays that hold one slice for each device"
        yield ""
        yield ""
    donated = ", donate_argnums=()" if needs.donate else ""
    yield f"def {names.shard_map_trees}(fun, *, in_specs, out_specs{donated}):"
    if needs.stacked or needs.stacked_outputs:
        yield f'    """Maps fun over all devices; it sees no device axis of what is {names.stacked}."""'
    else:
        yield '    """Maps fun over all devices; the mesh is built at the first call, not at import."""'
    yield ""
    yield from _local_functions(names, needs, axis)
    yield from head_lines("mapped", needs, is_outermost=not needs.processes)
    yield from mesh_lines(names, needs, axis)
    fun = "fun"
    if needs.stacked or needs.stacked_outputs:
        fun = "block"
        given = f"*{jax}.tree.map(squeeze, in_specs, args)" if needs.stacked else "*args"
        yield ""
        yield "        def block(*args):"
        if needs.stacked_outputs:
            yield f"            return {jax}.tree.map(expand, out_specs, fun({given}))"
        else:
            yield f"            return fun({given})"
        yield ""
    yield f"        return {jax}.shard_map("
    if needs.split and fun == "block":
        yield f"            {fun}, mesh=mesh, in_specs=specs(in_specs), out_specs=specs(out_specs), check_vma=False"
    else:
        yield f"            {fun}, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False"
    yield "        )(*args)"
    yield ""
    yield from compiled_lines(names, needs, axis, _host_local(names, needs, axis) if needs.processes else None)


def _local_functions(names: GlobalNames, needs: MapNeeds, axis: str) -> Iterator[str]:
    jax, stacked = names.jax, names.stacked
    if needs.split and (needs.stacked or needs.stacked_outputs):
        one = f"{names.spec}({axis}) if spec == {stacked} else spec"
        yield "    def specs(tree):"
        yield f"        return {jax}.tree.map(lambda spec: {one}, tree)"
        yield ""
    if needs.stacked:
        yield "    def squeeze(spec, tree):"
        yield f"        return {jax}.tree.map(lambda x: x.squeeze(0), tree) if spec == {stacked} else tree"
        yield ""
    if needs.stacked_outputs:
        expanded = f"{jax}.tree.map(lambda x: {names.jax_numpy}.expand_dims(x, 0), tree)"
        yield "    def expand(spec, tree):"
        yield f"        return {expanded} if spec == {stacked} else tree"
        yield ""


def _host_local(names: GlobalNames, needs: MapNeeds, axis: str) -> Iterator[str]:
    """A call whose stacked arrays are converted on the way in, and on the way out."""
    jax, stacked = names.jax, names.stacked
    yield ""
    for wanted, name, converter in (
        (needs.stacked, "to_global", "host_local_array_to_global_array"),
        (needs.stacked_outputs, "to_local", "global_array_to_host_local_array"),
    ):
        if wanted:
            yield f"        def {name}(spec, tree):"
            yield f"            convert = {names.multihost}.{converter}"
            yield f"            return convert(tree, mesh, {names.spec}({axis})) if spec == {stacked} else tree"
            yield ""
    call = f"{COMPILED}(*{jax}.tree.map(to_global, in_specs, args))" if needs.stacked else f"{COMPILED}(*args)"
    if needs.stacked_outputs:
        yield f"        out = {call}"
        yield f"        return {jax}.tree.map(to_local, out_specs, out)"
    else:
        yield f"        return {call}"
