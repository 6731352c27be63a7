"""All that the rules may ask of a project, computed when first asked for and once."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from jaxmigrate.findings import Finding, Note
from jaxmigrate.flow.axes import AxisUse, AxisWalk, Step, as_argument, shown, walk_axes, walk_jits
from jaxmigrate.flow.device_axis import Axis, DeviceAxes
from jaxmigrate.flow.factories import is_come_to, ways_of
from jaxmigrate.flow.first_devices import Taken, taken_from
from jaxmigrate.flow.fixes import Offer, described
from jaxmigrate.flow.guards import is_within_raises
from jaxmigrate.flow.host.engine import new_run, run_project
from jaxmigrate.flow.host.run import Run, Stepped
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.flow.map_prefilter import MapPrefilter
from jaxmigrate.flow.mapped_calls import ShardCall, shard_calls
from jaxmigrate.flow.mapped_methods import MappedMethods
from jaxmigrate.flow.meshes import MeshCall, mesh_call
from jaxmigrate.flow.one_device import runs_on_one
from jaxmigrate.flow.pipelines import keys_given
from jaxmigrate.flow.processes import ProcessBranch, process_branches
from jaxmigrate.flow.project_maps import ANY_FUNCTION, ProjectMaps
from jaxmigrate.flow.readings import (
    DeviceMap,
    along_each_axis,
    read_map,
    unstacked_results,
)
from jaxmigrate.flow.replicated import Replicated
from jaxmigrate.flow.taken_elsewhere import TakenElsewhere
from jaxmigrate.flow.unmapped import read_unmapped, unmapped_readings
from jaxmigrate.flow.variance import Reading
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import COMMUNICATING, PMAPS, SHARD_MAPS, axis_given
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import Release
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import by_last_name
from jaxmigrate.program.values import Application, External, Function

SHARING = COMMUNICATING - named("spreading")  # after which devices may have the same
BY_KEYWORD = -1
SENDING = "remote_copy"  # of Pallas, from one device to another
AXES = "{axes}"  # in a message: the axes that it is about
AXES_ARGUMENT = "{axes:argument}"  # the same, as an argument of a collective


class Place(NamedTuple):
    """An expression, and what a rule has to say of it."""

    module: Module
    node: ast.expr
    message: str


Find: TypeAlias = Callable[[DeviceMap, Reading], Iterable[Place]]
Mend: TypeAlias = Callable[[ast.expr, Module, Resolver], Offer | None]


class Facts:
    """A project's modules and what follows from them.

    `names` is what the user calls each file to report on, `target` the oldest JAX that the project must run on, None
    for the newest.
    """

    def __init__(
        self,
        modules: Sequence[Module],
        resolver: Resolver,
        names: Mapping[Path, str],
        target: Release | None = None,
    ) -> None:
        self.target = target
        self.modules = modules
        self.resolver = resolver
        self.names = names
        self._confirmed: dict[DeviceMap, Reading] = {}
        self._given: dict[DeviceMap, tuple[frozenset[int], frozenset[str]]] = {}
        self._taken: dict[Module, dict[ast.Call, list[Taken]]] = {}
        self._elsewhere: frozenset[str | None] | None = None  # axes of collectives that no map leads to
        self._unbound: frozenset[ast.AST] | None = None
        self._by_name: dict[Module, dict[str, list[ast.Call]]] = {}
        self._stepping: dict[ast.Call, Module] = {}  # calls of what pmap makes, of which the results are known

    @cached_property
    def leads(self) -> MapPrefilter:
        """Which calls may lead to a map."""
        return MapPrefilter(self.resolver.project)

    @cached_property
    def axes(self) -> AxisWalk:
        """Which axes are bound where."""
        return walk_axes(self.modules, self.resolver, self.leads, [made for made, _ in self._maps.passed])

    @property
    def axis_uses(self) -> list[AxisUse]:
        """Every use of an axis by a collective, once for each environment in which it can run."""
        return self.axes.uses

    @cached_property
    def unmapped_uses(self) -> list[AxisUse]:
        """Every use of an axis by a collective that a jit leads to and no map."""
        return walk_jits(self.modules, self.axes)

    def unbound_in(self, unbound: Callable[[AxisUse], bool]) -> frozenset[ast.AST]:
        """The maps in which a collective names an axis that is not bound: what it should reduce, is not reduced."""
        if self._unbound is None:
            uses = [use for use in self.axis_uses if unbound(use)]
            self._unbound = frozenset(step.node for use in uses for step in use.way)
        return self._unbound

    def may_reduce(self, found: DeviceMap) -> bool:
        """Whether a collective over an axis of a map is reached from it, or may be, as its axis is not known."""
        if self._elsewhere is None:
            known = {use.call for use in self.axis_uses}
            each = self.calls(*(name.rpartition(".")[2] for name in SHARING))
            self._elsewhere = frozenset(self.axis_of(call, module) for module, call in each if call not in known)
            if any(SENDING in module.text for module in self.resolver.project.program):
                self._elsewhere |= {None}
        if found.axes is None or not self._elsewhere.isdisjoint((None, *found.axes)):
            return True
        node = found.application.node
        uses = (use for use in self.axis_uses if use.axis in (found.axes or ()) and use.name in SHARING)
        return any(step.node is node for use in uses for step in use.way)

    def axis_of(self, call: ast.Call, module: Module) -> str | None:
        """The one axis that a collective names, None where that is not written down."""
        callee = self.resolver.value(call.func, module)
        name = callee.name if isinstance(callee, External) else ""
        given = axis_given(name, call_arguments(call, module)) if name in SHARING else None
        axis = self.resolver.literal(given) if given is not None else None
        return axis if isinstance(axis, str) else None

    @cached_property
    def meshes(self) -> list[MeshCall]:
        """Every call that makes a mesh."""
        found = [mesh_call(call, module, self.resolver) for module, call in self.calls("Mesh", "make_mesh")]
        return [mesh for mesh in found if mesh is not None]

    def calls(self, *names: str) -> Iterator[tuple[Module, ast.Call]]:
        """The calls of the modules whose callee's last name is one of these, or an import of one by another name."""
        for module in self.modules:
            if module not in self._by_name:
                self._by_name[module] = _calls_by_name(module)
            for name in names:
                yield from ((module, call) for call in self._by_name[module].get(name, ()))

    @cached_property
    def process_branches(self) -> list[ProcessBranch]:
        """Every branch that processes take differently and that some operation hangs on."""
        return [branch for module in self.modules for branch in process_branches(module, self.resolver)]

    @cached_property
    def _maps(self) -> ProjectMaps:
        return ProjectMaps(self.modules, self.resolver, self.leads)

    @property
    def all_maps(self) -> list[DeviceMap]:
        """Every pmap and shard_map of a function in sight, or of something made of one."""
        return self._maps.every

    @property
    def opaque_pmaps(self) -> list[DeviceMap]:
        """The pmaps of functions that are not in sight, which take any arguments."""
        return self._maps.opaque_pmaps

    @property
    def device_maps(self) -> list[DeviceMap]:
        """Every pmap and shard_map of a function in sight itself."""
        return self._maps.of_functions

    @cached_property
    def named_vmaps(self) -> list[DeviceMap]:
        """Every vmap with an axis name: collectives over it may be missing or doubled like those over devices."""
        return [*self._maps.named_vmaps(self.calls("vmap"))]

    @cached_property
    def _maps_of_several(self) -> list[DeviceMap]:
        """Every device map and named vmap, without the axes along which there is one device: nothing differs there."""
        maps = self._maps.of_several(self.named_vmaps)
        return [one for one in maps if not runs_on_one(one, [*self.given_to(one)], self.resolver)]

    @cached_property
    def readings(self) -> list[tuple[DeviceMap, Reading]]:
        """What reading the body of each device map, or named vmap, found, taking what is out of sight on trust."""
        return [(found, self._read(found, trusting=True)) for found in self._maps_of_several]

    @cached_property
    def readings_along(self) -> list[list[tuple[DeviceMap, Reading]]]:
        """The same for the devices along each axis of a map, one axis at a time."""
        known = dict(self.readings)
        each = [along_each_axis(found, self.resolver) for found in self._maps_of_several]
        return [
            [(one, known[one] if one in known else self._read(one, trusting=True)) for one in ways] for ways in each
        ]

    @cached_property
    def unmapped(self) -> list[tuple[DeviceMap, Reading]]:
        """The readings of functions with collectives that no map in sight leads to, as if one did."""
        each = [one for ways in self.readings_along for one in ways]
        known: dict[ast.AST, set[str]] = {}
        for found, reading in each:
            for node in reading.entered if found.axes else ():
                known.setdefault(node, set()).update(found.axes or ())
        return [*unmapped_readings(self.modules, COMMUNICATING, known, self.resolver)]

    def of_one_process(self, found: DeviceMap) -> Reading:
        """The same as the devices of one process see it, which have the index of their process in common."""
        return self._read(found, trusting=False, local=True)

    def _read(self, found: DeviceMap, *, trusting: bool, local: bool = False) -> Reading:
        """Reads the body of a map, with arguments equal that its calls replicate, and without those they leave out."""
        if found not in self._given:
            calls = self._replicated
            mapped = found.name in PMAPS and found.within is None
            self._given[found] = (
                (calls.arguments(found), calls.omitted(found)) if mapped else (frozenset(), frozenset())
            )
        equal, omitted = self._given[found]
        return read_map(found, self.resolver, trusting=trusting, equal=equal, omitted=omitted, local=local)

    @cached_property
    def _replicated(self) -> Replicated:
        return Replicated(self.modules, self.resolver, MappedMethods(self.all_maps, self.resolver), self.all_maps)

    def repeated_keys(self, found: DeviceMap) -> list[tuple[Module, ast.Call]]:
        """The calls that give all devices of a map the same key."""
        return self._replicated.repeated_keys(found) if found.name in PMAPS and found.within is None else []

    def replicated(self, found: DeviceMap) -> frozenset[int]:
        """The positions of the arguments of a map that start as equal slices."""
        return self._replicated.arguments(found) if found.within is None else frozenset()

    def all_repeated(self, found: DeviceMap) -> list[tuple[Module, ast.Call]]:
        """The calls that replicate what a map is given, where they do so with all of it."""
        everything = len(self._replicated.arguments(found)) == len(found.parameters()) and found.within is None
        return self._replicated.repeating(found) if everything else []

    def repeats_one(self, call: ast.Call, module: Module) -> bool:
        """Whether a call puts one thing on a leading axis again and again."""
        return self._replicated.repeats_one(call, module)

    def calls_of(self, found: DeviceMap) -> Iterator[tuple[ast.Call, Module]]:
        """The calls of what a map makes, as far as they are in sight."""
        return iter(()) if found.within is not None else self._replicated.calls(found)

    def runs_of(self, found: DeviceMap) -> Iterator[tuple[ast.Call, Module]]:
        """The calls of what a map makes, also where a jit stands around a shard_map."""
        yield from self.calls_of(found)
        if found.name in SHARD_MAPS and found.within is None:
            direct = {call for call, _ in self.calls_of(found)}
            for one in self.shard_calls:
                if one.made.node is found.application.node and one.call not in direct:
                    yield one.call, one.module

    @cached_property
    def shard_calls(self) -> list[ShardCall]:
        """Every call of what a shard_map in sight has made."""
        return [*shard_calls(self.modules, self.resolver)]

    def given_to(self, found: DeviceMap) -> Iterator[tuple[ast.expr, Module, int]]:
        """What the calls of a map pass, with the positions among its parameters; BY_KEYWORD for none."""
        for call in self._replicated.own_calls(found) if found.within is None else ():
            first = 0 if call.receiver is None else 1
            if found.function.node is ANY_FUNCTION and not self._is_of(call.node, call.module, found):
                continue  # what calls the map with other arguments than its own
            if not self._is_unmapped(call.node, call.module, found):
                plain = itertools.takewhile(lambda one: not isinstance(one, ast.Starred), call.node.args)
                yield from ((one, call.module, number) for number, one in enumerate(plain, first))
                named = (k.value for k in call.node.keywords if k.arg is not None)
                yield from ((one, call.module, BY_KEYWORD) for one in named)  # which pmap always splits

    def _is_of(self, call: ast.Call, module: Module, found: DeviceMap) -> bool:
        """Whether a call is of what a map gives itself, and of no function that calls that."""
        values = self.resolver.values(call.func, module)
        return any(isinstance(one, Application) and one.node is found.application.node for one in values)

    def _is_unmapped(self, call: ast.Call, module: Module, found: DeviceMap) -> bool:
        """Whether a call is of the very function that a map is given somewhere: `vae.encode(x)`, `pmap(vae.encode)`."""
        function = found.function.node
        if self._is_passed_by(call, module, found):
            return True
        if isinstance(function, ast.Lambda) or self._is_of(call, module, found):
            return False
        if isinstance(call.func, ast.Attribute) and call.func.attr == function.name:
            return found.application.node not in function.decorator_list
        values = self.resolver.values(call.func, module)
        return any(isinstance(one, Function) and one.node is function for one in values)

    def _is_passed_by(self, call: ast.Call, module: Module, found: DeviceMap) -> bool:
        """Whether what is called was made by a function that does not come to a map, for the flags it was given."""
        values = self.resolver.values(call.func, module)
        made = [one for one in values if isinstance(one, Application) and isinstance(one.callee, Function)]
        place, home = found.application.node, found.application.module
        return len(made) == len(values) > 0 and not any(is_come_to(place, home, one, self.resolver) for one in made)

    @cached_property
    def device_axes(self) -> DeviceAxes:
        """Which arrays of the host's code have an axis of devices."""
        others: dict[ast.Call, list[frozenset[int] | None]] = {}
        homes: dict[ast.Call, Module] = {}
        maps = [*self.all_maps, *self.opaque_pmaps]
        for found in maps if any(one.name in PMAPS for one in maps) else ():
            for call, module in self.calls_of(found):
                if self._is_unmapped(call, module, found):
                    continue
                of_pmap = found.name in PMAPS
                others.setdefault(call, []).append(unstacked_results(found, self.resolver) if of_pmap else None)
                homes[call] = module
        stepped: dict[ast.Call, frozenset[int]] = {}
        for call, each in others.items():
            known = [one for one in each if one is not None]
            if len(known) == len(each) >= self._ways(call, homes[call]):
                stepped[call] = frozenset().union(*known)
                self._stepping[call] = homes[call]
        return DeviceAxes(self.resolver, stepped, self._seen)

    def _ways(self, call: ast.Call, module: Module) -> int:
        """How many things a call may be a call of: a function may return what it maps or compiles, by a flag."""
        values = self.resolver.values(call.func, module)
        return sum(ways_of(one, self.resolver) if isinstance(one, Application) else 1 for one in values)

    def _seen(self, node: ast.expr) -> Axis | None:
        """What the run of the host's code says of an axis of devices."""
        held = self.host.seen.get(node)
        if held is None or held.axis is None or held.node is None or held.module is None:
            return None
        return Axis(held.axis, held.module, held.node)

    def is_on_devices(self, node: ast.expr) -> bool:
        """Whether an array certainly lies on the devices, for a map gave it, or it was replicated."""
        axis = self._seen(node)
        made = axis.node if axis is not None and axis.stacked else None
        if not isinstance(made, ast.Call) or axis is None:
            return False
        callee = self.resolver.value(made.func, axis.module)
        return made in self.host.stepped or (isinstance(callee, External) and callee.name in REPLICATES)

    @cached_property
    def host(self) -> Run:
        """The run of the host's code around the calls of what pmap makes."""
        axes = self.device_axes
        results = {call: _results_of(found) for found in self.all_maps for call, _ in self.calls_of(found)}
        stepped = {call: Stepped(frozenset(alone), results.get(call)) for call, alone in axes.stepped.items()}
        run = new_run(self.resolver, stepped, axes.is_first)
        around = (home.table.function_of(call) for call, home in self._stepping.items())
        names = {node.name for node in around if isinstance(node, ast.FunctionDef)}
        own = dict.fromkeys(self._stepping.values())
        homes = own | dict.fromkeys(one for one in self.modules if any(f"{name}(" in one.text for name in names))
        wanted = [(node, home) for home in own for node in home.table.own_scope if isinstance(node, ast.FunctionDef)]
        if stepped:
            run_project(run, [*homes], wanted)
        return run

    def taken_from(self, module: Module) -> Mapping[ast.Call, list[Taken]]:
        """Where a module takes one device's part of what a call gave, by that call."""
        if module not in self._taken:
            known = self._taken[module] = {}
            for taken in taken_from(module):
                if isinstance(taken.call, ast.Call):
                    known.setdefault(taken.call, []).append(taken)
        return self._taken[module]

    def taken_of(self, call: ast.Call, module: Module) -> list[Taken]:
        """Where one device's part of what a call gave is taken, by its own function or another."""
        found = [*self.taken_from(module).get(call, ()), *self._taken_elsewhere.of(call, module)]
        paths = {one.path for one in found}
        seen = self.host.takings.values() if self.host.stepped else ()
        for node, home, source in seen:
            if source.call is call and source.path not in paths:
                found.append(Taken(node, call, source.path, source.names or _names_in(node), home))
        return found

    @cached_property
    def _taken_elsewhere(self) -> TakenElsewhere:
        return TakenElsewhere(self.modules, self.resolver)

    def shared_keys(self) -> Iterator[tuple[Module, ast.expr]]:
        """Keys, the same for all devices, that are given to what a library maps over devices."""
        given = keys_given(self.modules, self.resolver)
        return ((module, key) for module, key in given if self._replicated.repeats(key, module))

    def in_maps(self, code: str, find: Find) -> Iterator[Finding]:
        """What a rule finds in readings of maps' bodies, each once, and only if it does without trust as well."""
        reported: set[Place] = set()
        for found, reading in self.readings:
            for place in self._confirmed_places(find, found, reading):
                if place not in reported:
                    reported.add(place)
                    yield from self.finding(place.module, place.node, code, place.message)

    def along_axes(
        self, code: str, find: Find, mend: Mend | None = None, *, unmapped: bool = False
    ) -> Iterator[Finding]:
        """The same for the devices along each axis of a map; AXES in a message becomes those that it is true of.

        `mend` says what would mend what is found at an expression. With `unmapped`, what no map in sight leads to is
        asked about, too.
        """
        reported: set[Place] = set()
        alone = [[one] for one in self.unmapped] if unmapped else []
        for ways in (*self.readings_along, *alone):
            axes: dict[Place, set[str]] = {}
            for found, reading in ways:
                for place in self._confirmed_places(find, found, reading):
                    axes.setdefault(place, set()).update(found.axes or ())
            for place, names in axes.items():
                if place not in reported:
                    reported.add(place)
                    message = place.message.replace(AXES, shown(frozenset(names)))
                    message = message.replace(AXES_ARGUMENT, as_argument(names))
                    fix = None if mend is None else mend(place.node, place.module, self.resolver)
                    yield from self.finding(place.module, place.node, code, message, fix=fix)

    def _confirmed_places(self, find: Find, found: DeviceMap, reading: Reading) -> Iterator[Place]:
        if any(True for _ in find(found, reading)):
            yield from find(found, self.confirmed(found, reading))

    def confirmed(self, found: DeviceMap, reading: Reading) -> Reading:
        """The reading of a map's body without trust in what is out of sight."""
        if not reading.assumed:
            return reading
        if found not in self._confirmed:
            alone = any(found is one for one, _ in self.unmapped)
            self._confirmed[found] = (
                read_unmapped(found, self.resolver, trusting=False) if alone else self._read(found, trusting=False)
            )
        return self._confirmed[found]

    def finding(
        self,
        module: Module,
        node: ast.expr,
        code: str,
        message: str,
        way: Sequence[Step] = (),
        fix: Offer | None = None,
    ) -> Iterator[Finding]:
        """A finding at an expression; the steps of `way` become notes, and `fix` what `lint --fix` does.

        None where its file was not named, nor, but for old names, where a test expects that to raise which it finds.
        """
        name = self.names.get(module.path)
        if name is None or (not code.startswith("JM4") and is_within_raises(node, module)):
            return
        notes = tuple(
            Note(self.names.get(s.module.path, s.module.path.as_posix()), *start(s.module, s.node), s.what) for s in way
        )
        line, column = start(module, node)
        end_line, end_column = end(module, node)
        fixed = described(fix, self.names)
        yield Finding(name, line, column, code, message, end_line, end_column, notes, fix=fixed)


def _names_in(node: ast.expr) -> tuple[str, ...]:
    """The name of what an expression takes a part of."""
    names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
    return tuple(itertools.islice(names, 1))


def _results_of(found: DeviceMap) -> int | None:
    """How many results a mapped function gives; None where it is one, or not known."""
    returns = [one for one in returned_by(found.function.node) if one is not None]
    numbers = {len(one.elts) if isinstance(one, ast.Tuple) else None for one in returns}
    return numbers.pop() if len(numbers) == 1 else None


def _calls_by_name(module: Module) -> dict[str, list[ast.Call]]:
    """The calls of a module by the last part of what they call; by the first name of what an import calls otherwise."""
    found = by_last_name(module.table.calls)
    renamed = {b.name: b.node.name for b in module.table.imports if isinstance(b.node, ast.alias) and b.node.asname}
    moved = {name: found.pop(name) for name in renamed if name in found}
    for name, calls in moved.items():
        found[renamed[name]] = [*found.get(renamed[name], ()), *calls]
    return found


def start(module: Module, node: ast.expr) -> tuple[int, int]:
    """Where an expression starts: line and column in characters, from 1."""
    return node.lineno, _column(module, node.lineno, node.col_offset)


def end(module: Module, node: ast.expr) -> tuple[int, int]:
    """Where an expression ends: line, and the column after its last character, from 1."""
    line = node.end_lineno or node.lineno
    return line, _column(module, line, node.end_col_offset or 0)


def _column(module: Module, line: int, offset: int) -> int:
    content = module.lines[line - 1] if line <= len(module.lines) else ""
    return len(content.encode()[:offset].decode(errors="replace")) + 1
