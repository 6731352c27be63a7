"""The source of the functions that the sites of a project share, and of the module where several files find them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxmigrate.migrate.helper import Names, Needs, helper_lines, kept_lines, only_one
from jaxmigrate.migrate.imports import together
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.migrate.sharing import NAMES, Wanted, with_their_own
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Define, Operation


def definitions(kinds: Iterable[str], names: FileNames, wanted: Wanted, called: Mapping[str, str]) -> Iterator[str]:
    """The source of shared functions, as one file says them; `called` are names that it has for some."""
    every = set(kinds)
    found = {kind: called.get(kind) or (names.free(NAMES[kind]) if kind in every else NAMES[kind]) for kind in NAMES}
    for kind in NAMES:
        if kind in every:
            text = "\n".join(_LINES[kind](names, wanted))
            for other, name in found.items():
                text = text if name == NAMES[other] else re.sub(rf"\b{NAMES[other]}\b", name, text)
            yield text


def sharing_module(path: Path, kinds: Iterable[str], wanted: Wanted, *, combined: bool) -> tuple[str, list[Operation]]:
    """The imports of a module of shared functions, and the operations that write these."""
    names = FileNames(Module(path, "", ast.parse("")))
    texts = list(definitions(with_their_own(kinds, wanted), names, wanted, wanted.called))
    every = list(names.imports())
    apart = [one.statement for one in every if one.name and one.asname and not combined]
    statements = {*together(one.statement for one in every if one.statement not in apart), *apart}
    standard = sorted(s for s in statements if s.split()[1].partition(".")[0] in sys.stdlib_module_names)
    others = sorted(statements.difference(standard), key=lambda s: (s.startswith("from"), s))
    head = "\n".join(standard) + "\n\n" * bool(standard and others) + "\n".join(others)
    return head, [Define(text) for text in texts]


def _axis(wanted: Wanted) -> tuple[str, str]:
    """What stands for the axis in a function that makes a mesh, and the parameter that brings it."""
    one, main = wanted.one_axis, wanted.main_axis
    if one is not None:
        return f'"{one}"', ""
    return "axis_name", "axis_name" if main is None else f'axis_name="{main}"'


def _main(wanted: Wanted) -> tuple[str, str]:
    """The axis that functions lay arrays over, and what get_mesh is told for it."""
    main = f'"{wanted.main_axis or wanted.default_axis}"'
    return main, "" if wanted.main_axis is not None else main


def _get_mesh(names: FileNames, wanted: Wanted) -> Iterator[str]:
    axis, parameter = _axis(wanted)
    over = f"along {axis}" if not parameter else "along one axis"
    own = wanted.are_own
    devices = "Some devices" if wanted.some is not None else "This process's devices" if own else "All devices"
    devices += ", process by process," if wanted.by_process and not own else ""
    yield f"@{names.of('functools.cache')}"
    yield f"def get_mesh({parameter}):"
    yield f'    """{devices} {over}; made at the first call."""'
    yield f"    return {wanted.mesh_text(names, axis, own=own)}"


def _mesh_of(names: FileNames, wanted: Wanted) -> Iterator[str]:
    axis, parameter = _axis(wanted)
    jax = names.of("jax")
    devices = wanted.first(jax)
    yield f"def mesh_of(tree{', ' + parameter if parameter else ''}):"
    yield '    """The first devices, one for each row of the arrays in tree."""'
    if not wanted.several:
        yield f"    {only_one(jax)}"
    yield f"    rows, *_ = {jax}.tree.leaves(tree)[0].shape"
    yield f"    return {names.of('jax.sharding.Mesh')}({devices}[:rows], ({axis},))"


def _shard(names: FileNames, wanted: Wanted) -> Iterator[str]:
    """Copies arrays where a step may donate them: `device_put` may alias its operand, which that would delete.

    It may alias NumPy's memory as well, which no donation changes, but the program may. Python's numbers get a dtype.
    """
    jax, numpy = names.of("jax"), names.of("numpy") if wanted.converts else ""
    array = f"{numpy}.{'array' if wanted.written else 'asarray'}(x)"
    mesh = "get_mesh(*spec)" if wanted.others(wanted.placed_axes) else "get_mesh()"
    mesh = "mesh" if wanted.lists else mesh
    yield f"def shard(tree, spec{', mesh' if wanted.lists else ''}):"
    yield '    """Puts this process\'s arrays on the mesh, split or replicated by spec."""'
    yield f"    sharding = {names.of('jax.sharding.NamedSharding')}({mesh}, spec)"
    if not (wanted.unlike or wanted.weakly or wanted.converts):
        yield f"    return {jax}.tree.map(lambda x: {jax}.make_array_from_process_local_data(sharding, x), tree)"
        return
    yield ""
    yield "    def put(x):"
    if wanted.weakly:
        yield "        if isinstance(x, (int, float, complex)):"
        yield f"            return {jax}.device_put(x, sharding)  # Python's numbers keep their weak dtypes"
    if wanted.unlike:
        yield f"        if isinstance(x, {jax}.Array) and x.is_fully_replicated:"
        yield "            x = x.addressable_data(0)  # the first device's, where theirs differ"
    if wanted.donates:
        yield "        # copied, as a step may donate it"
        yield f"        x = {names.of('jax.numpy')}.copy(x) if isinstance(x, {jax}.Array) else {array}"
    elif wanted.converts:
        yield f"        x = x if isinstance(x, {jax}.Array) else {array}"
    yield f"        return {jax}.make_array_from_process_local_data(sharding, x)"
    yield ""
    yield f"    return {jax}.tree.map(put, tree)"


def _flatten_devices(names: FileNames, wanted: Wanted) -> Iterator[str]:
    """An array with another number of rows raises, as it does in a map over all devices."""
    jax = names.of("jax")
    yield "def flatten_devices(tree):"
    yield '    """Joins the device axis of arrays, the first one, with the next."""'
    yield f"    count = {wanted.some.count(jax) if wanted.some is not None else f'{jax}.local_device_count()'}"
    yield f"    return {jax}.tree.map(lambda x: x.reshape(count * x.shape[1], *x.shape[2:]), tree)"


def _global_rows(names: FileNames, wanted: Wanted) -> Iterator[str]:
    """What a process has of an array stays where it lies, so that a state may come by in each round.

    One process passes on what it has, with the weak dtypes that JAX's conversion drops.
    """
    axis, told = _main(wanted)
    to_global = f"{names.of('jax.experimental.multihost_utils')}.host_local_array_to_global_array"
    yield "def global_rows(tree):"
    yield '    """Arrays over all devices, of which tree has this process\'s rows."""'
    yield f"    if {names.of('jax')}.process_count() == 1:"
    yield "        return tree"
    yield f"    return {to_global}(tree, get_mesh({told}), {names.of('jax.sharding.PartitionSpec')}({axis}))"


def _local_rows(names: FileNames, wanted: Wanted) -> Iterator[str]:
    axis, told = _main(wanted)
    local = f"{names.of('jax.experimental.multihost_utils')}.global_array_to_host_local_array"
    yield "def local_rows(tree):"
    yield '    """This process\'s rows of arrays that are split over all devices."""'
    yield f"    return {local}(tree, get_mesh({told}), {names.of('jax.sharding.PartitionSpec')}({axis}))"


def _stack(names: FileNames, wanted: Wanted) -> Iterator[str]:
    jax, jnp = names.of("jax"), names.of("jax.numpy")
    axis, _ = _main(wanted)
    spec, sharding = names.of("jax.sharding.PartitionSpec"), names.of("jax.sharding.NamedSharding")
    one = "x.addressable_data(0)" if wanted.processes else "x"
    yield "def stack(tree):"
    yield '    """Gives arrays a leading axis with one slice for each device."""'
    yield f"    mesh = {wanted.mesh_text(names, axis, own=True)}"
    yield ""
    yield "    def expand(x):"
    yield f"        x = {jax}.device_put({one}, {sharding}(mesh, {spec}()))"
    yield f"        split = {sharding}(mesh, {spec}({axis}))"
    yield f"        copy = {jax}.jit({jnp}.broadcast_to, static_argnums=1, out_shardings=split)"
    yield "        return copy(x, (mesh.size, *x.shape))"
    yield ""
    yield f"    return {jax}.tree.map(expand, tree)"


def _prefetch(names: FileNames, wanted: Wanted) -> Iterator[str]:
    del names, wanted
    yield "def prefetch(iterator, size):"
    yield '    """Prefetches size elements to the devices."""'
    yield "    queue = []"
    yield "    for element in iterator:"
    yield "        queue.append(element)"
    yield "        if len(queue) >= size:"
    yield "            yield queue.pop(0)"
    yield "    yield from queue"


def _per_device(names: FileNames, wanted: Wanted) -> Iterator[str]:
    jax, jnp = names.of("jax"), names.of("jax.numpy")
    wraps = names.of("functools.wraps")
    spec = names.of("jax.sharding.PartitionSpec") if wanted.with_axes else ""
    axis, _ = _main(wanted)
    if not wanted.with_axes:
        yield "def per_device(fun):"
        yield '    """Runs fun on the slices of one device, which have no leading axis."""'
        yield ""
        yield f"    @{wraps}(fun)"
        if wanted.block_keywords:
            yield "    def block(*args, **kwargs):"
            yield f"        args, kwargs = {jax}.tree.map(lambda x: x.squeeze(0), (args, kwargs))"
            yield "        out = fun(*args, **kwargs)"
        else:
            yield "    def block(*args):"
            yield f"        out = fun(*{jax}.tree.map(lambda x: x.squeeze(0), args))"
        yield f"        return {jax}.tree.map(lambda x: {jnp}.expand_dims(x, 0), out)"
    else:
        yield f"def per_device(fun, in_specs={spec}({axis}), out_specs={spec}({axis})):"
        yield '    """Runs fun on the slices of one device, which have no split axis."""'
        yield ""
        partial, leaf = names.of("functools.partial"), ", is_leaf=lambda s: s is None" if wanted.with_static else ""
        yield "    def each(change, spec, part):"
        yield f"        return {jax}.tree.map(lambda x: change(x, len(spec) - 1), part) if spec else part"
        yield ""
        yield f"    @{wraps}(fun)"
        more = ", **kwargs" if wanted.block_keywords else ""
        yield f"    def block(*args{more}):"
        yield f"        args = {jax}.tree.map({partial}(each, {jnp}.squeeze), in_specs, args{leaf})"
        if more:
            yield f"        kwargs = {jax}.tree.map(lambda x: x.squeeze(0), kwargs)"
        yield f"        return {jax}.tree.map({partial}(each, {jnp}.expand_dims), out_specs, fun(*args{more}))"
    yield ""
    yield "    return block"


def _host_local(names: FileNames, wanted: Wanted) -> Iterator[str]:
    """JAX's two conversions between this process's rows and the global arrays of a map.

    They leave what is global as it is, and what is the same on all devices stays so. The name of the axis is nothing to
    arrays, so that one mesh does for all maps whose specs are not said. A mesh that every call gives says by itself
    whether it has devices of several processes.
    """
    given, (axis, told) = wanted.gives_meshes, _main(wanted)
    spec = names.of("jax.sharding.PartitionSpec")
    own_axis = not given and wanted.others(wanted.local_axes)
    late = own_axis or wanted.with_mesh  # a default of a parameter cannot say what comes by another one
    usual = "None" if late else f"{spec}({axis})"
    said = {
        "in_specs": "=" + usual if wanted.no_in_specs else "",
        "out_specs": "=" + usual if wanted.no_out_specs else "",
    }
    said = {name: default for name, default in said.items() if getattr(wanted, f"with_{name}")}
    parameters = ["mapped", *(["mesh"] if given else [])]
    parameters += [f"{name}{default}" for name, default in sorted(said.items(), key=lambda one: bool(one[1]))]
    parameters += [f"axis_name={axis}"] if own_axis else []
    parameters += ["mesh=None"] if wanted.with_mesh and not given else []
    yield f"def host_local({', '.join(parameters)}):"
    if wanted.with_out_specs:
        yield '    """Passes and returns this process\'s rows; what has P() stays global."""'
    else:
        yield '    """Passes and returns the rows of this process, where there are several."""'
    if given:
        yield "    if not mesh.is_multi_process:"
        yield "        return mapped"
    mesh = f"get_mesh({'axis_name' if own_axis else told})"
    usual = f"{spec}(*mesh.axis_names)" if wanted.with_mesh else f"{spec}({'axis_name' if own_axis else axis})"
    open_ones = {name for name, default in said.items() if default == "=None"}
    yield from _host_local_call(names, wanted, mesh, usual, open_ones)


def _host_local_call(names: FileNames, wanted: Wanted, mesh: str, usual: str, late: Collection[str]) -> Iterator[str]:
    """The function that host_local returns; `late` are the specs that a call may leave out until the mesh is known."""
    jax, multihost = names.of("jax"), names.of("jax.experimental.multihost_utils")
    given, kwargs = wanted.gives_meshes, ", **kwargs" if wanted.keywords else ""
    chosen = wanted.with_mesh and not given
    yield ""
    yield f"    @{names.of('functools.wraps')}(mapped)"
    yield f"    def call(*args{kwargs}):"
    if chosen:
        yield f"        own = {mesh} if mesh is None else mesh"
        usual = usual.replace("mesh", "own")
    if not given:
        yield f"        if {'not own.is_multi_process' if chosen else f'{jax}.process_count() == 1'}:"
        yield f"            return mapped(*args{kwargs})"
    if not chosen and not given:
        yield f"        mesh = {mesh}"
    own = "own" if chosen else "mesh"
    specs = {
        name: (_or_usual(name, usual) if name in late else name) if is_said else usual
        for name, is_said in (("in_specs", wanted.with_in_specs), ("out_specs", wanted.with_out_specs))
    }
    to_global = f"{multihost}.host_local_array_to_global_array"
    together = bool(kwargs) and not (wanted.with_scalars or wanted.with_in_specs)
    if together:
        yield f"        args, kwargs = {to_global}((args, kwargs), {own}, {usual})"
    elif kwargs:
        yield f"        kwargs = {to_global}(kwargs, {own}, {usual})"
    if wanted.with_scalars and wanted.with_in_specs:
        one = f'to_global(x, {own}, spec) if hasattr(x, "shape") else x'
        yield f"        to_global = {to_global}"
        yield ""
        yield "        def put(spec, part):  # numbers keep their weak dtypes"
        none = "part if spec is None else ", ", is_leaf=lambda spec: spec is None"
        unless, leaf = none if wanted.local_static else ("", "")
        yield f"            return {unless}{jax}.tree.map(lambda x: {one}, part)"
        yield ""
        yield f"        args = {jax}.tree.map(put, {specs['in_specs']}, args{leaf})"
    elif wanted.with_scalars:
        one = f'{to_global}(x, {own}, {usual}) if hasattr(x, "shape") else x'
        yield f"        args = {jax}.tree.map(lambda x: {one}, args)"
    elif not together:
        yield f"        args = {to_global}(args, {own}, {specs['in_specs']})"
    yield from _host_local_rows(names, wanted, own, specs["out_specs"], f"mapped(*args{kwargs})")
    yield ""
    if wanted.with_lower:
        yield "    call.lower = mapped.lower"
    yield "    return call"


def _or_usual(name: str, usual: str) -> str:
    """Specs that a call may leave out; `P()` is as false as None."""
    return f"{usual} if {name} is None else {name}"


def _host_local_rows(names: FileNames, wanted: Wanted, own: str, spec: str, call: str) -> Iterator[str]:
    """What becomes of the results of a map: this process's rows of what is split."""
    jax, to_local = names.of("jax"), f"{names.of('jax.experimental.multihost_utils')}.global_array_to_host_local_array"
    if wanted.with_out_specs:
        yield f"        to_local = {to_local}"
        yield f"        return {jax}.tree.map(lambda s, x: to_local(x, {own}, s) if s else x, {spec}, {call})"
    elif wanted.with_replicated:
        yield f"        to_local = {to_local}"
        one = f"x if x.is_fully_replicated else to_local(x, {own}, {spec})"
        yield f"        return {jax}.tree.map(lambda x: {one}, {call})"
    else:
        yield f"        return {to_local}({call}, {own}, {spec})"


def _on_mesh(names: FileNames, wanted: Wanted) -> Iterator[str]:
    """What jit would refuse beside calls of the host, which pmap lays out itself: arrays of another mesh."""
    axis, told = _main(wanted)
    own_axis = wanted.others(wanted.put_axes)
    specs = ("=None" if own_axis else "=$usual") if wanted.put_specs else ""
    parameters = [*(["in_specs" + specs] if specs else []), *([f"axis_name={axis}"] if own_axis else [])]
    mesh, usual = ("get_mesh(axis_name)", "axis_name") if own_axis else (f"get_mesh({told})", axis)
    yield from _putting(names, wanted, "on_mesh", mesh, usual, parameters)


def _on_rows(names: FileNames, wanted: Wanted) -> Iterator[str]:
    given, (axis, told) = "(args, kwargs)" if wanted.put_keywords else "args", _main(wanted)
    own_axis = wanted.others(wanted.put_axes)
    more = ", axis_name" if own_axis else ", " * bool(told) + told
    parameters = [f"axis_name={axis}"] if own_axis else []
    usual = "axis_name" if own_axis else axis
    yield from _putting(names, wanted, "on_rows", f"mesh_of({given}{more})", usual, parameters)


def _putting(
    names: FileNames, wanted: Wanted, name: str, mesh: str, axis: str, parameters: Sequence[str]
) -> Iterator[str]:
    jax, named, spec = names.of("jax"), names.of("jax.sharding.NamedSharding"), names.of("jax.sharding.PartitionSpec")
    usual, kwargs = f"{spec}({axis})", ", **kwargs" if wanted.put_keywords else ""
    yield f"def {name}({', '.join(['mapped', *parameters]).replace('$usual', usual)}):"
    yield '    """Brings arguments to the mesh before the map is compiled for it."""'
    yield ""
    yield f"    @{names.of('functools.wraps')}(mapped)"
    yield f"    def call(*args{kwargs}):"
    where = f"{named}({mesh}, {usual})"
    if any(one.startswith("in_specs") for one in parameters):
        told = _or_usual("in_specs", usual) if "in_specs=None" in parameters else "in_specs"
        where = f"{jax}.tree.map({names.of('functools.partial')}({named}, {mesh}), {told})"
    yield f"        layout = {where}"
    if kwargs:
        yield f"        args, kwargs = {jax}.device_put((args, kwargs), layout)"
        yield "        return mapped(*args, **kwargs)"
    else:
        yield f"        return mapped(*{jax}.device_put(args, layout))"
    yield ""
    if wanted.with_lower:
        yield "    call.lower = mapped.lower"
    yield "    return call"


def _map_stacked(names: FileNames, wanted: Wanted) -> Iterator[str]:
    needs, found = _of_helper(names, wanted)
    yield from helper_lines(needs, found)


def _kept_map(names: FileNames, wanted: Wanted) -> Iterator[str]:
    needs, found = _of_helper(names, wanted)
    yield from kept_lines(needs, found)


def _of_helper(names: FileNames, wanted: Wanted) -> tuple[Needs, Names]:
    """What the map that chooses its mesh needs, and what it calls it."""
    needs = wanted.chosen_needs
    assert needs is not None
    return needs, Names(
        helper=NAMES["map_stacked"],
        jax=names.of("jax"),
        mesh=names.of("jax.sharding.Mesh"),
        spec=names.of("jax.sharding.PartitionSpec"),
        sharding=names.of("jax.sharding.NamedSharding") if needs.puts else "",
        multihost=names.of("jax.experimental.multihost_utils") if needs.processes else "",
        numpy=names.of("numpy") if needs.processes and needs.in_axes else "",
        cache=names.of("functools.lru_cache") if needs.again else "",
        default_axis=wanted.default_axis,
    )


_LINES = {
    "get_mesh": _get_mesh,
    "mesh_of": _mesh_of,
    "shard": _shard,
    "flatten_devices": _flatten_devices,
    "global_rows": _global_rows,
    "local_rows": _local_rows,
    "stack": _stack,
    "prefetch": _prefetch,
    "per_device": _per_device,
    "host_local": _host_local,
    "on_mesh": _on_mesh,
    "on_rows": _on_rows,
    "kept_map": _kept_map,
    "map_stacked": _map_stacked,
}
