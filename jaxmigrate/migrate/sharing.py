"""The few functions that the sites of a project share, and the one place where they stand.

A project of one file has them in that file; else they are a module of their own, `sharing` of its importers.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxmigrate.flow.layout.some_devices import SomeDevices
from jaxmigrate.migrate.helper import KEPT_NAME, Needs, all_devices
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.migrate.shared_module import Location
from jaxmigrate.program.modules import Module

NAMES = {  # in the order in which they are written
    "get_mesh": "get_mesh",
    "mesh_of": "mesh_of",
    "shard": "shard",
    "flatten_devices": "flatten_devices",
    "global_rows": "global_rows",
    "local_rows": "local_rows",
    "stack": "stack",
    "prefetch": "prefetch",
    "per_device": "per_device",
    "host_local": "host_local",
    "on_mesh": "on_mesh",
    "on_rows": "on_rows",
    "kept_map": KEPT_NAME,
    "map_stacked": "shard_map_stacked",
}
HEAD = '"""The mesh of this program, and how its maps use it."""'
FLAGS = (
    *("any_axis", "keywords", "with_scalars", "with_in_specs", "with_out_specs", "with_mesh", "without_mesh"),
    *("with_static", "with_axes", "with_replicated", "with_lower", "over_all", "per_device", "block_keywords"),
    *("put_specs", "put_keywords", "local_static", "no_in_specs", "no_out_specs", "numbers", "written", "with_local"),
)
BY_ROWS = frozenset({"global_rows", "local_rows", "host_local", "mesh_of", "on_mesh", "on_rows", "map_stacked"})
FEW = 2  # maps whose meshes are written out where they stand


@dataclass(slots=True)
class Wanted:
    """What the sites of one file, or of the files that share a module, ask of the functions there."""

    axes: Counter[str] = field(default_factory=Counter)  # how often each is used
    any_axis: bool = False  # some axis is only known at run time
    placed_axes: set[str] = field(default_factory=set)  # those that shard splits arrays along
    local_axes: set[str] = field(default_factory=set)  # those of specs that host_local is told; empty where not known
    put_axes: set[str] = field(default_factory=set)  # those of the meshes that on_mesh brings arguments to
    meshes: int = 0
    get_mesh: bool = False
    over_all: bool = False  # some mesh has the devices of all processes
    keywords: bool = False  # host_local is given arguments by keyword
    with_scalars: bool = False  # some arguments of host_local may be numbers, or static
    local_static: bool = False  # some of them are static, and have no spec
    with_in_specs: bool = False  # some arguments of host_local are no stacked arrays
    with_out_specs: bool = False  # and some outputs
    no_in_specs: bool = False  # some call of host_local says none of arguments
    no_out_specs: bool = False  # and none of outputs
    with_mesh: bool = False  # some call of host_local gives the mesh of some devices
    without_mesh: bool = False  # and some call none
    with_lower: bool = False  # `.lower` of what stands around a map may be called
    with_replicated: bool = False  # some outputs of maps under host_local are the same on all devices
    with_static: bool = False  # some arguments of per_device are static
    with_axes: bool = False  # some axis that is dropped is not the first one
    per_device: bool = False  # some map needs that function
    block_keywords: bool = False  # what it makes is given arguments by keyword
    put_specs: bool = False  # some arguments of on_mesh are not split along their first axis
    put_keywords: bool = False  # or are given by keyword
    beside: set[ast.expr] = field(default_factory=set)  # maps whose functions may have one beside them instead
    weak: set[bool] = field(default_factory=set)  # whether Python's numbers keep their weak dtypes, as in jaxline
    unlike: bool = False  # an array may lie on all devices with unlike copies
    donates: bool = False  # some code may give up the buffers of arrays
    numbers: bool = False  # Python's numbers may be replicated
    with_local: bool = False  # some map is over the devices of its process, of the mesh of all
    written: bool = False  # the program writes in place into what shard is given
    processes: bool = False
    ordered: bool = False  # something depends on the order of devices
    own: bool = False  # where it does, all arrays of a process lie on its devices
    some: SomeDevices | None = None  # all arrays lie on these
    lists: bool = False  # they lie on lists of devices that the program makes, whose meshes shard is given
    several: bool = False  # it does run as several processes, as far as its files say
    needs: dict[Module, Needs] = field(default_factory=dict)
    chosen_needs: Needs | None = None  # what the map that chooses its mesh needs where it is written next
    default_axis: str = "devices"
    users: set[Module] = field(default_factory=set)  # files that make meshes
    all_names: set[str] = field(default_factory=set)  # the functions that some file uses
    rows: Counter[str] = field(default_factory=Counter)  # how often rows of a process become global, or the reverse
    flattened: int = 0  # how often the device axis of what comes from out of sight is joined with the next one
    called: Mapping[str, str] = field(default_factory=dict)  # functions that have other names than usual

    @property
    def by_process(self) -> bool:
        """Whether the devices of meshes come one process after another, as pmap's do.

        So it is where the program runs as several processes and something asks for the places of devices, or for the
        rows of a process; and for the places where it may, if arrays lie over all of them. Arrays that each process
        lays out itself lie on its own devices in any order of the mesh.
        """
        by_rows = self.with_local or bool(self.rows) or not self.all_names.isdisjoint(BY_ROWS)
        if self.several:
            return self.ordered or by_rows
        return self.ordered and self.processes and "shard" in self.all_names

    @property
    def gives_meshes(self) -> bool:
        """Whether every call of host_local gives it the mesh."""
        return self.with_mesh and not self.without_mesh

    @property
    def weakly(self) -> bool:
        """Whether Python's numbers keep their weak dtypes wherever arrays are replicated."""
        return self.weak == {True}

    @property
    def converts(self) -> bool:
        """Whether what shard is given has to be made an array, or copied, before it is laid out."""
        return self.donates or self.written or (self.numbers and not self.weakly)

    @property
    def one_axis(self) -> str | None:
        """The axis of all maps, where they have one in common."""
        return next(iter(self.axes)) if len(self.axes) == 1 and not self.any_axis else None

    @property
    def main_axis(self) -> str | None:
        """The axis of most maps and arrays, which the functions are over unless they are told another one.

        The name of the axis is nothing to arrays: on a mesh of the same devices along any other they lie alike.
        """
        return min(self.axes, key=lambda axis: (-self.axes[axis], axis)) if self.axes else None

    def name(self, kind: str) -> str:
        """What the module of the functions calls one of them."""
        return self.called.get(kind, NAMES[kind])

    def others(self, axes: Collection[str]) -> bool:
        """Whether some axes are not the main one."""
        return any(axis != self.main_axis for axis in axes)

    def devices(self, jax: str, *, own: bool) -> str:
        """The source of the devices that a mesh is of: all, those of this process, which are its own, or some."""
        if own and self.some is not None:
            return self.some.text(jax)
        return f"{jax}.local_devices()" if own else all_devices(jax, processes=self.by_process)

    def mesh_text(self, names: FileNames, axis: str, *, own: bool) -> str:
        """The source of such a mesh."""
        return f"{names.of('jax.sharding.Mesh')}({self.devices(names.of('jax'), own=own)}, ({axis},))"

    def first(self, jax: str) -> str:
        """The source of the devices of which maps take the first."""
        own = self.own or self.some is not None
        return self.devices(jax, own=True) if own else all_devices(jax, processes=self.several)

    @property
    def are_own(self) -> bool:
        """Whether the mesh that all arrays lie on is not that of all devices."""
        return self.some is not None or (self.processes and not self.over_all)


def together_wanted(ones: Sequence[Wanted]) -> Wanted:
    """What several files want of one module; what stands once for the whole program is the same in all."""
    found = replace(ones[0])
    for name in ("placed_axes", "local_axes", "put_axes", "weak", "users", "all_names", "beside"):
        setattr(found, name, set().union(*(getattr(one, name) for one in ones)))
    for name in FLAGS:
        setattr(found, name, any(getattr(one, name) for one in ones))
    found.meshes = sum(one.meshes for one in ones)
    found.flattened = sum(one.flattened for one in ones)
    found.rows = sum((one.rows for one in ones), Counter())
    found.axes = sum((one.axes for one in ones), Counter())
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
            self.called[kind] = self._place.name(NAMES[kind], self._wanted.name(kind), self._names)
        return self.called[kind]

    def call(self, kind: str, argument: str, axis: MapPlan) -> str:
        """The source of a call; it names the axis where that is not the main one."""
        self._note(axis)
        more = ", $axis" if self.is_other(axis.axis_name) else ""
        return f"{self.name(kind)}({argument}{more})"

    def mesh(self, plan: MapPlan) -> str:
        """The source of the mesh of all devices, in which `$axis` stands for the axis name."""
        self._note(plan)
        if not self._final:
            self._wanted.meshes += 1
            self._wanted.users.add(self._module)
            self._wanted.over_all |= not plan.own_devices
            self._wanted.with_local |= plan.own_devices
            return "mesh"
        if not self.has_get_mesh:
            return self._wanted.mesh_text(self._names, "$axis", own=plan.own_devices)
        if self._wanted.own and not plan.own_devices:
            return self._wanted.mesh_text(self._names, "$axis", own=False)
        made = f"{self.name('get_mesh')}({'$axis' if self.is_other(plan.axis_name) else ''})"
        return f"{made}.local_mesh" if plan.own_devices and self._wanted.over_all and self._wanted.several else made

    def rows(self, kind: str, *, is_short: bool) -> str:
        """What the file calls a function between rows of a process and global arrays; empty where one call needs it."""
        if is_short:
            return self.name(kind)
        if not self._final:
            self._wanted.rows[kind] += 1
        return self.name(kind) if self._final and self.uses(kind) else ""

    @property
    def flattens(self) -> str:
        """What the file calls the function that joins the device axis with the next one; empty where one call does."""
        self._wanted.flattened += not self._final
        return self.name("flatten_devices") if self._final and self.uses("flatten_devices") else ""

    def count(self, some: SomeDevices) -> str:
        """The source of the number of some devices."""
        return some.count(self._names.of("jax"))

    def note(self, axis: str, *, placed: bool = False) -> None:
        """Says that an array is laid out over an axis; `placed`, that shard is told so."""
        if not self._final:
            self._wanted.axes[axis] += 1
            if placed:
                self._wanted.placed_axes.add(axis)

    @property
    def has_shard(self) -> bool:
        """Whether the file has its own shard, or shares a module that has one; known once all files were written."""
        return self._final and self._place is not None and self.uses("shard")

    def note_values(self, *, numbers: bool = False, written: bool = False) -> None:
        """Says of what shard is given whether Python's numbers may be in it, and whether something writes into it."""
        self._wanted.numbers |= numbers
        self._wanted.written |= written

    def is_other(self, axis: str) -> bool:
        """Whether an axis, empty where it is not known, has to be named where a mesh is made."""
        return axis != self._wanted.main_axis

    def uses(self, kind: str) -> bool:
        """Whether some file that shares a module with this one uses one of the functions."""
        return kind in self._wanted.all_names

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
                self._wanted.axes[plan.axis_name] += 1
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
        self._wanted.no_in_specs |= not inputs
        self._wanted.no_out_specs |= not outputs
        self._wanted.with_scalars |= scalars
        self._wanted.with_replicated |= replicated

    @property
    def says_outputs(self) -> bool:
        """Whether some call of host_local says of which outputs a process has its own rows: all that mix them do."""
        return self._final and self._wanted.with_out_specs

    def tells_local(self, axis: str) -> None:
        """Says that host_local is told specs over an axis."""
        self._wanted.local_axes.add(axis)

    def needs_puts(self, axis: str, *, specs: bool, keywords: bool) -> None:
        """Says what on_mesh, or on_rows, is told of arguments over an axis, and whether some are given by keyword.

        What a map that calls the host is given has to lie on its own mesh, with the axis of its name.
        """
        self._wanted.put_axes.add(axis)
        self._wanted.put_specs |= specs
        self._wanted.put_keywords |= keywords

    def needs_static(self) -> None:
        """Says that some arguments of host_local are static."""
        self._wanted.local_static = True

    def needs_lower(self) -> None:
        """Says that `.lower` of what stands around a map may be called, which then is that of the map."""
        self._wanted.with_lower = True

    def needs_mesh(self, *, given: bool) -> None:
        """Says whether host_local is given the mesh of a map."""
        self._wanted.with_mesh |= given
        self._wanted.without_mesh |= not given

    @property
    def gives_meshes(self) -> bool:
        """Whether every call of host_local gives it the mesh."""
        return self._wanted.gives_meshes

    @property
    def several(self) -> bool:
        """Whether the program runs as several processes, as far as its files say."""
        return self._wanted.several

    @property
    def own(self) -> bool:
        """Whether all arrays of a process lie on its own devices."""
        return self._wanted.own

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


def completed(wanted: Wanted) -> None:
    """Decides whether meshes are made by a function: where others use it, or where many maps would say it."""
    several = wanted.meshes > FEW or len(wanted.users) > 1
    if wanted.rows:
        wanted.all_names |= {*wanted.rows} if sum(wanted.rows.values()) > 1 else {"get_mesh"}
    if wanted.flattened > 1:
        wanted.all_names.add("flatten_devices")
    wanted.get_mesh = "get_mesh" in with_their_own(wanted.all_names, wanted) or several
    wanted.per_device |= len(wanted.beside) > FEW
    if wanted.per_device and wanted.beside:
        wanted.all_names.add("per_device")
    wanted.over_all |= bool(wanted.all_names & {"shard", "host_local", "on_mesh", "global_rows", "local_rows"})
    wanted.over_all &= not wanted.own


def with_their_own(kinds: Iterable[str], wanted: Wanted) -> set[str]:
    """Functions with those that they use themselves."""
    every = set(kinds)
    every |= {"mesh_of"} if "on_rows" in every else set()
    uses_mesh = {"on_mesh", "global_rows", "local_rows"} | (set() if wanted.gives_meshes else {"host_local"})
    uses_mesh |= set() if wanted.lists else {"shard"}
    if "map_stacked" in every and wanted.chosen_needs is not None and wanted.chosen_needs.keeps_apart:
        every.add("kept_map")
    return every | {"get_mesh"} if every & uses_mesh else every


def serves(text: str, wanted: Wanted) -> bool:
    """Whether a module that an earlier run wrote has all that is wanted of it now."""
    kinds = with_their_own({*wanted.all_names, *(("get_mesh",) if wanted.get_mesh else ())}, wanted)
    defined = all(re.search(rf"^def {wanted.name(kind)}\(", text, re.MULTILINE) for kind in kinds)
    main = wanted.main_axis
    told = f'axis_name="{main}"' if main is not None else "axis_name"
    over = f'("{wanted.one_axis}",)' if wanted.one_axis is not None else f"def {wanted.name('get_mesh')}({told})"
    is_over = text.startswith(HEAD) and over in text.replace("'", '"')
    return defined and is_over and _lies_so(text, kinds, wanted) and "map_stacked" not in kinds


def _lies_so(text: str, kinds: Collection[str], wanted: Wanted) -> bool:
    """Whether the meshes of such a module have the devices that are wanted, in their order."""
    own = wanted.devices("jax", own=wanted.are_own)
    by_process = all_devices("jax", processes=True)  # which does for any order
    first = wanted.first("jax")
    made = {
        "get_mesh": [f"return Mesh({devices}, " for devices in (own, *([] if wanted.are_own else [by_process]))],
        "mesh_of": [f"return Mesh({first}[:rows]"],
    }
    one_line = "".join(text.split())
    return all(any("".join(one.split()) in one_line for one in made[kind]) for kind in made if kind in kinds)
