"""All that the rules may ask of a project, computed when first asked for and once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.findings import Finding, Note
from jaxmigrate.flow.axes import AxisUse, AxisWalk, Step, by_last_name, may_be_mapped, walk_axes
from jaxmigrate.flow.axis_values import map_axes
from jaxmigrate.flow.guards import is_within_raises
from jaxmigrate.flow.leads import Leads
from jaxmigrate.flow.mapped_methods import MappedMethods
from jaxmigrate.flow.meshes import MeshCall, mesh_call
from jaxmigrate.flow.operations import is_device_map
from jaxmigrate.flow.pipelines import keys_given
from jaxmigrate.flow.processes import ProcessBranch, process_branches
from jaxmigrate.flow.readings import DeviceMap, innermost, method_of_made, read_map
from jaxmigrate.flow.replicated import Replicated
from jaxmigrate.flow.variance import Reading
from jaxmigrate.program.collectives import PMAP, SHARD_MAPS, VMAP, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External

DEVICE_MAPS = SHARD_MAPS | {PMAP}


class Place(NamedTuple):
    """An expression, and what a rule has to say of it."""

    module: Module
    node: ast.expr
    message: str


class Facts:
    """A project's modules and what follows from them. `names` is what the user calls each file to report on."""

    def __init__(self, modules: Sequence[Module], resolver: Resolver, names: Mapping[Path, str]) -> None:
        self.modules = modules
        self.resolver = resolver
        self.names = names
        self._confirmed: dict[DeviceMap, Reading] = {}
        self._given: dict[DeviceMap, tuple[frozenset[int], frozenset[str]]] = {}
        self._by_name: dict[Module, dict[str, list[ast.Call]]] = {}

    @cached_property
    def leads(self) -> Leads:
        """Which calls may lead to a map."""
        return Leads(self.resolver.project)

    @cached_property
    def axes(self) -> AxisWalk:
        """Which axes are bound where."""
        return walk_axes(self.modules, self.resolver, self.leads)

    @property
    def axis_uses(self) -> list[AxisUse]:
        """Every use of an axis by a collective, once for each environment in which it can run."""
        return self.axes.uses

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
    def all_maps(self) -> list[DeviceMap]:
        """Every pmap and shard_map of a function in sight, or of something made of one."""
        return [found for module in self.modules for found in self._device_maps(module)]

    @cached_property
    def device_maps(self) -> list[DeviceMap]:
        """Every pmap and shard_map of a function in sight itself."""
        return [found for found in self.all_maps if found.mapped is found.function]

    @cached_property
    def named_vmaps(self) -> list[DeviceMap]:
        """Every vmap with an axis name: collectives over it may be missing or doubled like those over devices."""
        calls = [(m, c) for m, c in self.calls("vmap") if any(k.arg == "axis_name" for k in c.keywords)]
        values = [self.resolver.value(call, module) for module, call in calls]
        made = [v for v, (_, call) in zip(values, calls, strict=True) if isinstance(v, Application) and v.node is call]
        return [found for value in made if value.callee == External(VMAP) for found in self._device_map(value, {VMAP})]

    @cached_property
    def readings(self) -> list[tuple[DeviceMap, Reading]]:
        """What reading the body of each device map, or named vmap, found, taking what is out of sight on trust."""
        maps = [*self.all_maps, *self.named_vmaps]
        return [(found, self._read(found, trusting=True)) for found in maps]

    def _read(self, found: DeviceMap, *, trusting: bool) -> Reading:
        """Reads the body of a map, with arguments equal that its calls replicate, and without those they leave out."""
        if found not in self._given:
            calls = self._replicated
            mapped = found.name == PMAP
            self._given[found] = (
                (calls.arguments(found), calls.omitted(found)) if mapped else (frozenset(), frozenset())
            )
        equal, omitted = self._given[found]
        return read_map(found, self.resolver, trusting=trusting, equal=equal, omitted=omitted)

    @cached_property
    def _replicated(self) -> Replicated:
        return Replicated(self.modules, self.resolver, MappedMethods(self.all_maps, self.resolver))

    def shared_keys(self) -> Iterator[tuple[Module, ast.expr]]:
        """Keys, the same for all devices, that are given to what a library maps over devices."""
        given = keys_given(self.modules, self.resolver)
        return ((module, key) for module, key in given if self._replicated.repeats(key, module))

    def _device_maps(self, module: Module) -> Iterator[DeviceMap]:
        for call in self.leads.calls(module):
            for value in self.resolver.values(call, module):
                if isinstance(value, Application) and value.node is call:
                    yield from self._device_map(value)
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and may_be_mapped(node, module, self.leads):
                value = self.resolver.decorated(node, module)
                if isinstance(value, Application):
                    yield from self._device_map(value)

    def _device_map(self, value: Application, wanted: Collection[str] = DEVICE_MAPS) -> Iterator[DeviceMap]:
        while isinstance(value.callee, External) and value.callee.name == "jax.jit" and value.arguments:
            inner = value.arguments[0].value
            if not isinstance(inner, Application):
                return
            value = inner
        if not isinstance(value.callee, External) or not value.arguments:
            return
        name = value.callee.name
        if name in wanted:
            mapped = argument(value.arguments, 0, "fun", "f")
            operands = self.resolver.argument_values(mapped) if mapped is not None else ()
            # `step = pmap(step)` is given itself
            operands = tuple(method_of_made(o, self.resolver) for o in operands if not is_device_map(o))
            operand = operands[0] if len(operands) == 1 else None
            function = innermost(operand, self.resolver) if operand is not None else None
            if operand is not None and function is not None:
                yield DeviceMap(name, value, function, map_axes(name, value.arguments, self.resolver, {}), operand)

    def in_maps(self, code: str, find: Callable[[DeviceMap, Reading], Iterable[Place]]) -> Iterator[Finding]:
        """What a rule finds in readings of maps' bodies, each once, and only if it does without trust as well."""
        reported: set[Place] = set()
        for found, reading in self.readings:
            if any(True for _ in find(found, reading)):
                for place in find(found, self.confirmed(found, reading)):
                    if place not in reported:
                        reported.add(place)
                        yield from self.finding(place.module, place.node, code, place.message)

    def confirmed(self, found: DeviceMap, reading: Reading) -> Reading:
        """The reading of a map's body without trust in what is out of sight."""
        if not reading.assumed:
            return reading
        if found not in self._confirmed:
            self._confirmed[found] = self._read(found, trusting=False)
        return self._confirmed[found]

    def finding(
        self, module: Module, node: ast.expr, code: str, message: str, way: Sequence[Step] = ()
    ) -> Iterator[Finding]:
        """A finding at an expression; the steps of `way` become notes.

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
        yield Finding(name, line, column, code, message, end_line, end_column, notes)


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
