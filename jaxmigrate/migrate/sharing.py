"""The few functions that the sites of a project share, and the one place where they stand.

A project of one file has them in that file; else they are a module of their own, `sharing` of its importers.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxmigrate.migrate.helper import KEPT_NAME, Names, Needs, all_devices, helper_lines, kept_lines
from jaxmigrate.migrate.imports import together
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.migrate.shared_module import Location
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Define, Operation

NAMES = {  # in the order in which they are written
    "get_mesh": "get_mesh",
    "mesh_of": "mesh_of",
    "shard": "shard",
    "stack": "stack",
    "prefetch": "prefetch",
    "per_device": "per_device",
    "host_local": "host_local",
    "kept_map": KEPT_NAME,
    "map_stacked": "shard_map_stacked",
}
HEAD = '"""The mesh of this program, and how its maps use it."""'
FLAGS = (
    *("any_axis", "keywords", "with_scalars", "with_in_specs", "with_out_specs", "with_mesh", "without_mesh"),
    *("with_static", "with_axes", "with_replicated", "with_lower", "over_all", "per_device", "block_keywords"),
)
FEW = 2  # maps whose meshes are written out where they stand


@dataclass(slots=True)
class Wanted:
    """What the sites of one file, or of the files that share a module, ask of the functions there."""

    axes: set[str] = field(default_factory=set)
    any_axis: bool = False  # some axis is only known at run time
    meshes: int = 0
    get_mesh: bool = False
    over_all: bool = False  # some mesh has the devices of all processes
    keywords: bool = False  # host_local is given arguments by keyword
    with_scalars: bool = False  # some arguments of host_local may be numbers, or static
    with_in_specs: bool = False  # some arguments of host_local are no stacked arrays
    with_out_specs: bool = False  # and some outputs
    with_mesh: bool = False  # some call of host_local gives the mesh of some devices
    without_mesh: bool = False  # and some call none
    with_lower: bool = False  # `.lower` of what host_local gives may be called
    with_replicated: bool = False  # some outputs of maps under host_local are the same on all devices
    with_static: bool = False  # some arguments of per_device are static
    with_axes: bool = False  # some axis that is dropped is not the first one
    per_device: bool = False  # some map needs that function
    block_keywords: bool = False  # what it makes is given arguments by keyword
    beside: set[ast.expr] = field(default_factory=set)  # maps whose functions may have one beside them instead
    weak: set[bool] = field(default_factory=set)  # whether Python's numbers keep their weak dtypes, as in jaxline
    unlike: bool = False  # an array may lie on all devices with unlike copies
    processes: bool = False
    ordered: bool = False  # something depends on the order of devices
    own: bool = False  # where it does, all arrays of a process lie on its devices
    several: bool = False  # it does run as several processes, as far as its files say
    needs: dict[Module, Needs] = field(default_factory=dict)
    chosen_needs: Needs | None = None  # what the map that chooses its mesh needs where it is written next
    default_axis: str = "devices"
    users: set[Module] = field(default_factory=set)  # files that make meshes
    all_names: set[str] = field(default_factory=set)  # the functions that some file uses

    @property
    def by_process(self) -> bool:
        """Whether the devices of meshes come one process after another, as pmap's do.

        So it is where the program runs as several processes, and where it may, if arrays lie over all of them and
        something asks for the places of devices.
        """
        return self.several or (self.ordered and self.processes and "shard" in self.all_names)

    @property
    def gives_meshes(self) -> bool:
        """Whether every call of host_local gives it the mesh."""
        return self.with_mesh and not self.without_mesh

    @property
    def weakly(self) -> bool:
        """Whether Python's numbers keep their weak dtypes wherever arrays are replicated."""
        return self.weak == {True}

    @property
    def one_axis(self) -> str | None:
        """The axis of all maps, where they have one in common."""
        return next(iter(self.axes)) if len(self.axes) == 1 and not self.any_axis else None


def together_wanted(ones: Sequence[Wanted]) -> Wanted:
    """What several files want of one module; what stands once for the whole program is the same in all."""
    found = replace(ones[0])
    for name in ("axes", "weak", "users", "all_names", "beside"):
        setattr(found, name, set().union(*(getattr(one, name) for one in ones)))
    for name in FLAGS:
        setattr(found, name, any(getattr(one, name) for one in ones))
    found.meshes = sum(one.meshes for one in ones)
    found.needs = {module: needs for one in ones for module, needs in one.needs.items()}
    completed(found)
    return found


class Shared:
    """What one file uses of what a project shares."""

    def __init__(
        self, module: Module, names: FileNames, wanted: Wanted, places: Mapping[Module, Location] | None
    ) -> None:
        self._module = module
        self._names = names
        self._wanted = wanted
        self._place = places.get(module) if places is not None else None
        self._final = places is not None
        self.called: dict[str, str] = {}  # what the file calls the functions that it uses

    def name(self, kind: str) -> str:
        """What the file calls one of the functions."""
        if not self._final:
            self._wanted.all_names.add(kind)
            return NAMES[kind]
        if kind not in self.called:
            assert self._place is not None
            self.called[kind] = self._place.name(NAMES[kind], self._names)
        return self.called[kind]

    def call(self, kind: str, argument: str, axis: MapPlan) -> str:
        """The source of a call; it names the axis where the project has several."""
        self._note(axis)
        more = "" if self._wanted.one_axis is not None else ", $axis"
        return f"{self.name(kind)}({argument}{more})"

    def mesh(self, plan: MapPlan) -> str:
        """The source of the mesh of all devices, in which `$axis` stands for the axis name."""
        self._note(plan)
        if not self._final:
            self._wanted.meshes += 1
            self._wanted.users.add(self._module)
            self._wanted.over_all |= not plan.own_devices
            return "mesh"
        if not self.has_get_mesh:
            return mesh_text(self._names, "$axis", processes=self._wanted.by_process, own=plan.own_devices)
        if self._wanted.own and not plan.own_devices:
            return mesh_text(self._names, "$axis", processes=self._wanted.by_process)
        made = f"{self.name('get_mesh')}({'' if self._wanted.one_axis is not None else '$axis'})"
        return f"{made}.local_mesh" if plan.own_devices and self._wanted.over_all and self._wanted.several else made

    def note(self, axis: str) -> None:
        """Says that an array is laid out over an axis."""
        if not self._final:
            self._wanted.axes.add(axis)

    @property
    def one_axis(self) -> bool:
        """Whether all maps of the project have one axis in common, which nobody needs to name."""
        return self._wanted.one_axis is not None

    @property
    def is_final(self) -> bool:
        """Whether the file is written for good: a first writing only finds what it needs."""
        return self._final

    @property
    def has_get_mesh(self) -> bool:
        """Whether meshes are made by a function of the project."""
        return self._wanted.get_mesh

    def _note(self, plan: MapPlan) -> None:
        if not self._final:
            if plan.axis_name:
                self._wanted.axes.add(plan.axis_name)
            else:
                self._wanted.any_axis = True

    def needs_keywords(self) -> None:
        """Says that host_local is given arguments by keyword."""
        self._wanted.keywords = True

    def weak_numbers(self, *, kept: bool) -> bool:
        """Notes whether Python's numbers keep their weak dtypes; whether whoever replicates them has to see to it."""
        if not self._final:
            self._wanted.weak.add(kept)
        return kept and not self._wanted.weakly

    def needs_specs(self, *, inputs: bool, outputs: bool, scalars: bool, replicated: bool) -> None:
        """Says what host_local is told of arrays; with `scalars`, that some arguments may be no arrays.

        With `replicated`, that some outputs are the same on all devices.
        """
        self._wanted.with_in_specs |= inputs
        self._wanted.with_out_specs |= outputs
        self._wanted.with_scalars |= scalars
        self._wanted.with_replicated |= replicated

    def needs_lower(self) -> None:
        """Says that `.lower` of what host_local gives may be called, which then is that of the map."""
        self._wanted.with_lower = True

    def needs_mesh(self, *, given: bool) -> None:
        """Says whether host_local is given the mesh of a map."""
        self._wanted.with_mesh |= given
        self._wanted.without_mesh |= not given

    @property
    def gives_meshes(self) -> bool:
        """Whether every call of host_local gives it the mesh."""
        return self._wanted.gives_meshes

    def wraps_beside(self, site: ast.expr, *, plain: bool, can: bool) -> bool:
        """Whether the function around a mapped one stands beside its map, which it can or not.

        Where all arrays of many maps drop their first axis, which is `plain`, one function does for all of them.
        """
        if self._final:
            return can and not (plain and self._wanted.per_device)
        if not can:
            self._wanted.per_device = True
        elif plain:
            self._wanted.beside.add(site)
        return can

    def passes_keywords(self) -> None:
        """Says that what per_device makes is given arguments by keyword."""
        self._wanted.block_keywords = True

    def needs_axes(self, *, static: bool) -> None:
        """Says that per_device is told which axes it drops; with `static`, that some arguments have no spec."""
        self._wanted.with_axes = True
        self._wanted.with_static |= static


def mesh_text(names: FileNames, axis: str, *, processes: bool, own: bool = False) -> str:
    """The source of a mesh of all devices, or of this process's `own`."""
    devices = f"{names.of('jax')}.local_devices()" if own else all_devices(names.of("jax"), processes=processes)
    return f"{names.of('jax.sharding.Mesh')}({devices}, ({axis},))"


def completed(wanted: Wanted) -> None:
    """Decides whether meshes are made by a function: where others use it, or where many maps would say it."""
    several = wanted.meshes > FEW or len(wanted.users) > 1
    wanted.get_mesh = "get_mesh" in with_their_own(wanted.all_names, wanted) or several
    wanted.per_device |= len(wanted.beside) > FEW
    if wanted.per_device and wanted.beside:
        wanted.all_names.add("per_device")
    wanted.over_all |= bool(wanted.all_names & {"shard", "host_local"})
    wanted.over_all &= not wanted.own


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


def with_their_own(kinds: Iterable[str], wanted: Wanted) -> set[str]:
    """Functions with those that they use themselves."""
    every = set(kinds)
    uses_mesh = {"shard"} if wanted.gives_meshes else {"shard", "host_local"}
    if "map_stacked" in every and wanted.chosen_needs is not None and wanted.chosen_needs.keeps_apart:
        every.add("kept_map")
    return every | {"get_mesh"} if every & uses_mesh else every


def serves(text: str, wanted: Wanted) -> bool:
    """Whether a module that an earlier run wrote has all that is wanted of it now."""
    kinds = with_their_own({*wanted.all_names, *(("get_mesh",) if wanted.get_mesh else ())}, wanted)
    defined = all(re.search(rf"^def {NAMES[kind]}\(", text, re.MULTILINE) for kind in kinds)
    over = f'("{wanted.one_axis}",)' if wanted.one_axis is not None else "(axis_name,)"
    is_over = text.startswith(HEAD) and over in text.replace("'", '"')
    return defined and is_over and _lies_so(text, kinds, wanted) and "map_stacked" not in kinds


def _lies_so(text: str, kinds: Collection[str], wanted: Wanted) -> bool:
    """Whether the meshes of such a module have the devices that are wanted, in their order."""
    every = all_devices("jax", processes=wanted.by_process)
    own = "jax.local_devices()" if wanted.processes and not wanted.over_all else every
    first = all_devices("jax", processes=wanted.several)
    made = {"get_mesh": f"return Mesh({own}, ", "mesh_of": f"return Mesh({first}[:rows]"}
    one_line = "".join(text.split())
    return all("".join(made[kind].split()) in one_line for kind in made if kind in kinds)


def sharing_module(path: Path, kinds: Iterable[str], wanted: Wanted, *, combined: bool) -> tuple[str, list[Operation]]:
    """The imports of a module of shared functions, and the operations that write these."""
    names = FileNames(Module(path, "", ast.parse("")))
    texts = list(definitions(with_their_own(kinds, wanted), names, wanted, {}))
    every = list(names.imports())
    apart = [one.statement for one in every if one.name and one.asname and not combined]
    statements = {*together(one.statement for one in every if one.statement not in apart), *apart}
    standard = sorted(s for s in statements if s.split()[1].partition(".")[0] in sys.stdlib_module_names)
    others = sorted(statements.difference(standard), key=lambda s: (s.startswith("from"), s))
    head = "\n".join(standard) + "\n\n" * bool(standard and others) + "\n".join(others)
    return head, [Define(text) for text in texts]


def _axis(wanted: Wanted) -> tuple[str, str]:
    """What stands for the axis in a function, and the parameter that brings it."""
    one = wanted.one_axis
    return (f'"{one}"', "") if one is not None else ("axis_name", "axis_name")


def _get_mesh(names: FileNames, wanted: Wanted) -> Iterator[str]:
    axis, parameter = _axis(wanted)
    over = f"along {axis}" if not parameter else "along one axis"
    own = wanted.processes and not wanted.over_all
    devices = "This process's devices" if own else "All devices"
    devices += ", process by process," if wanted.by_process and not own else ""
    yield f"@{names.of('functools.cache')}"
    yield f"def get_mesh({parameter}):"
    yield f'    """{devices} {over}; made at the first call."""'
    yield f"    return {mesh_text(names, axis, processes=wanted.by_process, own=own)}"


def _mesh_of(names: FileNames, wanted: Wanted) -> Iterator[str]:
    axis, parameter = _axis(wanted)
    jax = names.of("jax")
    devices = all_devices(jax, processes=wanted.several)
    yield f"def mesh_of(tree{', ' + parameter if parameter else ''}):"
    yield '    """The first devices, one for each row of the arrays in tree."""'
    yield f"    rows, *_ = {jax}.tree.leaves(tree)[0].shape"
    yield f"    return {names.of('jax.sharding.Mesh')}({devices}[:rows], ({axis},))"


def _shard(names: FileNames, wanted: Wanted) -> Iterator[str]:
    """Copies, since `device_put` may alias its operand, which a later donation would delete."""
    jax, numpy, jnp = names.of("jax"), names.of("numpy"), names.of("jax.numpy")
    mesh = "get_mesh()" if wanted.one_axis is not None else "get_mesh(axis_name)"
    parameter = "" if wanted.one_axis is not None else ", axis_name"
    yield f"def shard(tree, spec{parameter}):"
    yield '    """Copies this process\'s arrays to the mesh, split or replicated by spec."""'
    sharding = f"{names.of('jax.sharding.NamedSharding')}({mesh}, spec)"
    copied = f"{jnp}.copy(x) if isinstance(x, {jax}.Array) else {numpy}.array(x)"
    if not (wanted.unlike or wanted.weakly):
        partial = names.of("functools.partial")
        yield f"    put = {partial}({jax}.make_array_from_process_local_data, {sharding})"
        yield f"    return {jax}.tree.map(lambda x: put({copied}), tree)"
        return
    yield f"    sharding = {sharding}"
    yield ""
    yield "    def put(x):"
    if wanted.weakly:
        yield "        if isinstance(x, (int, float, complex)):"
        yield f"            return {jax}.device_put(x, sharding)  # Python's numbers keep their weak dtypes"
    if wanted.unlike:
        yield f"        if isinstance(x, {jax}.Array) and x.is_fully_replicated:"
        yield "            x = x.addressable_data(0)  # the first device's, where theirs differ"
    yield f"        x = {copied}"
    yield f"        return {jax}.make_array_from_process_local_data(sharding, x)"
    yield ""
    yield f"    return {jax}.tree.map(put, tree)"


def _stack(names: FileNames, wanted: Wanted) -> Iterator[str]:
    jax, jnp = names.of("jax"), names.of("jax.numpy")
    axis, parameter = _axis(wanted)
    spec, sharding = names.of("jax.sharding.PartitionSpec"), names.of("jax.sharding.NamedSharding")
    one = "x.addressable_data(0)" if wanted.processes else "x"
    yield f"def stack(tree{', ' + parameter if parameter else ''}):"
    yield '    """Gives arrays a leading axis with one slice for each device."""'
    yield f"    mesh = {names.of('jax.sharding.Mesh')}({jax}.local_devices(), ({axis},))"
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
    axis = f'"{wanted.one_axis}"' if wanted.one_axis is not None else "None"
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
    given, several = wanted.gives_meshes, wanted.one_axis is None
    axis = f'"{wanted.one_axis or wanted.default_axis}"'
    said = [
        name for name, is_said in (("in_specs", wanted.with_in_specs), ("out_specs", wanted.with_out_specs)) if is_said
    ]
    late = bool(said) and (several or wanted.with_mesh)  # a default of a parameter cannot say what comes by another one
    spec = names.of("jax.sharding.PartitionSpec")
    parameters = ["mapped", *(["mesh"] if given else [])]
    parameters += [f"{name}={'None' if late else f'{spec}({axis})'}" for name in said]
    parameters += [f"axis_name={axis}"] if late and several and not given else []
    parameters += ["mesh=None"] if wanted.with_mesh and not given else []
    yield f"def host_local({', '.join(parameters)}):"
    yield '    """Passes and returns the rows of this process, where there are several."""'
    if given:
        yield "    if not mesh.is_multi_process:"
        yield "        return mapped"
    mesh = "get_mesh()" if not several else f"get_mesh({'axis_name' if late else axis})"
    usual = f"{spec}(*mesh.axis_names)" if wanted.with_mesh else f"{spec}({'axis_name' if late and several else axis})"
    yield from _host_local_call(names, wanted, mesh, usual, late=late)


def _host_local_call(names: FileNames, wanted: Wanted, mesh: str, usual: str, *, late: bool) -> Iterator[str]:
    """The function that host_local returns."""
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
        name: (f"{name} or {usual}" if late else name) if is_said else usual
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
        yield f"            return part if spec is None else {jax}.tree.map(lambda x: {one}, part)"
        yield ""
        yield f"        args = {jax}.tree.map(put, {specs['in_specs']}, args, is_leaf=lambda spec: spec is None)"
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


def _host_local_rows(names: FileNames, wanted: Wanted, own: str, spec: str, call: str) -> Iterator[str]:
    """What becomes of the results of a map: this process's rows of what is split."""
    jax, to_local = names.of("jax"), f"{names.of('jax.experimental.multihost_utils')}.global_array_to_host_local_array"
    if wanted.with_out_specs:
        yield f"        to_local = {to_local}"
        if wanted.with_replicated:  # by maps that say no specs of their outputs
            one = f"to_local(x, {own}, s) if s and not x.is_fully_replicated else x"
            yield ""
            yield "        def rows(s, part):"
            yield f"            return {jax}.tree.map(lambda x: {one}, part)"
            yield ""
            yield f"        return {jax}.tree.map(rows, {spec}, {call})"
        else:
            yield f"        return {jax}.tree.map(lambda s, x: to_local(x, {own}, s) if s else x, {spec}, {call})"
    elif wanted.with_replicated:
        yield f"        to_local = {to_local}"
        one = f"x if x.is_fully_replicated else to_local(x, {own}, {spec})"
        yield f"        return {jax}.tree.map(lambda x: {one}, {call})"
    else:
        yield f"        return {to_local}({call}, {own}, {spec})"


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
    "stack": _stack,
    "prefetch": _prefetch,
    "per_device": _per_device,
    "host_local": _host_local,
    "kept_map": _kept_map,
    "map_stacked": _map_stacked,
}
