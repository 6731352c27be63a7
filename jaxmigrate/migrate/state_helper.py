"""The `_shard_map` of a file whose states hold both replicated fields and fields with one slice for each device."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.migrate.global_helpers import (
    GlobalNames,
    MapNeeds,
    by_position_lines,
    called,
    compiled_lines,
    head_lines,
    mesh_lines,
    signature,
)


def shard_map_lines(names: GlobalNames, needs: MapNeeds, axis: str) -> Iterator[str]:
    """`jax.shard_map` whose specs for a state come from the state that it is called with.

    A state's specs are a state themselves, since its type may hold more than arrays: flax's holds the optimizer.
    """
    jax = names.jax
    axis = "axis_name" if needs.named else axis
    yield from signature(names, needs)
    yield "    def stacked_in(state, names):"
    yield f"        fields = {jax}.tree.map(lambda _: False, state, is_leaf=lambda x: x is not state)"
    yield f"        return {_copy(needs)}(**dict.fromkeys(names, True))"
    yield ""
    yield from by_position_lines(needs)
    yield from _local_functions(names, needs)
    yield from head_lines("mapped", needs, is_outermost=not needs.processes and not needs.everywhere)
    yield from mesh_lines(names, needs, axis)
    yield "        states = {i: stacked_in(args[i], names) for i, names in (stacked_fields or {}).items()}"
    yield "        specs = {"
    yield f"            i: {jax}.tree.map(lambda one: {names.spec}({axis}) if one else {names.spec}(), state)"
    yield "            for i, state in states.items()"
    yield "        }"
    yield ""
    yield "        def block(*args):"
    given = "i in stacked" if needs.stacked else "False"
    yield f"            args = [{jax}.tree.map(squeeze, states.get(i, {given}), x) for i, x in enumerate(args)]"
    yield from _returns(names, needs)
    yield ""
    yield "        ins = tuple(specs.get(i, spec) for i, spec in enumerate(in_specs))"
    yield from _out_specs(needs)
    out = "outs" if needs.state_outputs or needs.whole_state else "out_specs"
    yield f"        return {jax}.shard_map(block, mesh=mesh, in_specs=ins, out_specs={out}, check_vma=False)(*args)"
    yield ""
    yield from compiled_lines(names, needs, axis, _host_local(names, needs, axis) if needs.processes else None)


def _copy(needs: MapNeeds) -> str:
    """How a state is copied with other fields; a file may have states of two kinds."""
    if len(needs.copies) == 1:
        return f"fields.{next(iter(needs.copies))}"
    return "(fields._replace if isinstance(fields, tuple) else fields.replace)"


def _local_functions(names: GlobalNames, needs: MapNeeds) -> Iterator[str]:
    jax = names.jax
    yield "    def squeeze(one, tree):"
    yield f"        return {jax}.tree.map(lambda x: x.squeeze(0), tree) if one else tree"
    yield ""
    if _gives_stacked(needs):
        yield "    def expand(one, tree):"
        yield f"        return {jax}.tree.map(lambda x: {names.jax_numpy}.expand_dims(x, 0), tree) if one else tree"
        yield ""


def _returns(names: GlobalNames, needs: MapNeeds) -> Iterator[str]:
    """What a block gives back, with the device axis where its caller expects one."""
    if _gives_stacked(needs):
        yield f"            out = {called(needs)}(*args)"
        yield from (f"            {line}" for line in _each_output(names, needs, "expand"))
    else:
        yield f"            return {called(needs)}(*args)"


def _gives_stacked(needs: MapNeeds) -> bool:
    return needs.state_outputs or needs.whole_state or needs.stacked_outputs


def _each_output(names: GlobalNames, needs: MapNeeds, function: str) -> Iterator[str]:
    """Returns `out` with a function called for all of it that is stacked."""
    tree_map = f"{names.jax}.tree.map"
    if needs.whole_state:
        yield "if whole_state is not None:"
        yield f"    return {tree_map}({function}, states[whole_state], out)"
    if needs.stacked_outputs:
        yield "if stacked_outputs is True:"
        yield f"    return {function}(True, out)"
    if not (needs.state_outputs or needs.stacked_outputs):
        yield "return out"
        return
    given = "i in stacked_outputs" if needs.stacked_outputs else "False"
    kept = "not stacked_outputs" if needs.stacked_outputs else ""
    kept = " and ".join(filter(None, [kept, "not state_outputs" if needs.state_outputs else ""]))
    yield f"if {kept}:"
    yield "    return out"
    if needs.state_outputs:
        yield f"like = {{i: states[argument] for i, argument in {_every(needs)}.items()}}"
        given = f"like.get(i, {given})"
    yield f"return tuple({tree_map}({function}, {given}, x) for i, x in enumerate(out))"


def _every(needs: MapNeeds) -> str:
    """The outputs that are states; where others are stacked there may be none."""
    return "(state_outputs or {})" if needs.stacked_outputs else "state_outputs"


def _out_specs(needs: MapNeeds) -> Iterator[str]:
    """The specs of what a function returns, where a state is among it."""
    if needs.whole_state:
        yield "        outs = out_specs if whole_state is None else specs[whole_state]"
    elif needs.state_outputs:
        yield "        outs = out_specs"
    if needs.state_outputs:
        yield "        if state_outputs:"
        yield "            outs = tuple("
        yield "                specs[state_outputs[i]] if i in state_outputs else spec"
        yield "                for i, spec in enumerate(out_specs)"
        yield "            )"


def _host_local(names: GlobalNames, needs: MapNeeds, axis: str) -> Iterator[str]:
    """A call whose stacked arrays, and fields, are converted on the way in, and on the way out."""
    jax, spec = names.jax, f"{names.spec}({axis})"
    outputs = _gives_stacked(needs)
    yield ""
    yield from _converter("to_global", f"{names.multihost}.host_local_array_to_global_array", spec)
    if outputs:
        yield from _converter("to_local", f"{names.multihost}.global_array_to_host_local_array", spec)
    yield "        states = {i: stacked_in(args[i], names) for i, names in (stacked_fields or {}).items()}"
    given = "i in stacked" if needs.stacked else "False"
    moved = f"[{jax}.tree.map(to_global, states.get(i, {given}), x) for i, x in enumerate(args)]"
    if outputs:
        yield f"        out = compiled(*{moved})"
        yield from (f"        {line}" for line in _each_output(names, needs, "to_local"))
    else:
        yield f"        return compiled(*{moved})"


def _converter(name: str, converter: str, spec: str) -> Iterator[str]:
    yield f"        def {name}(one, tree):"
    yield f"            convert = {converter}"
    yield f"            return convert(tree, mesh, {spec}) if one else tree"
    yield ""
