"""All that the rules may ask of a project, computed when first asked for and once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxmigrate.findings import Finding, Note
from jaxmigrate.flow.axes import AxisUse, AxisWalk, Step, last_name, map_axes, may_be_mapped, walk_axes
from jaxmigrate.flow.leads import Leads
from jaxmigrate.flow.meshes import MeshCall, mesh_call
from jaxmigrate.flow.processes import ProcessBranch, process_branches
from jaxmigrate.flow.specs import out_vars, spec_axes, spec_var
from jaxmigrate.flow.variance import Level, Reading, Var, read
from jaxmigrate.program.collectives import PMAP, SHARD_MAPS, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Argument, Constant, External, Function


@dataclass(frozen=True, slots=True, eq=False)
class DeviceMap:
    """A pmap or shard_map of a function that is in sight; `axes` is None where they are not known."""

    name: str
    application: Application
    function: Function
    axes: frozenset[str] | None

    def keyword(self, name: str, position: int = 99) -> Argument | None:
        """The argument given under a keyword or at a position."""
        return argument(self.application.arguments, position, name)


class Facts:
    """A project's modules and what follows from them. `names` is what the user calls each file to report on."""

    def __init__(self, modules: Sequence[Module], resolver: Resolver, names: Mapping[Path, str]) -> None:
        self.modules = modules
        self.resolver = resolver
        self.names = names
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
    def device_maps(self) -> list[DeviceMap]:
        """Every pmap and shard_map of a function in sight."""
        return [found for module in self.modules for found in self._device_maps(module)]

    @cached_property
    def readings(self) -> list[tuple[DeviceMap, Reading]]:
        """What reading the body of each device map found."""
        return [(found, self._read(found)) for found in self.device_maps]

    def _device_maps(self, module: Module) -> Iterator[DeviceMap]:
        for call in module.table.calls:
            if not self.leads.may_lead(call, module):
                continue
            for value in self.resolver.values(call, module):
                if isinstance(value, Application) and value.node is call:
                    yield from self._device_map(value)
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and may_be_mapped(node, module, self.leads):
                value = self.resolver.decorated(node, module)
                if isinstance(value, Application):
                    yield from self._device_map(value)

    def _device_map(self, value: Application) -> Iterator[DeviceMap]:
        while isinstance(value.callee, External) and value.callee.name == "jax.jit" and value.arguments:
            inner = value.arguments[0].value
            if not isinstance(inner, Application):
                return
            value = inner
        if not isinstance(value.callee, External) or not value.arguments:
            return
        name = value.callee.name
        if name == PMAP or name in SHARD_MAPS:
            mapped = argument(value.arguments, 0, "fun", "f")
            operands = self.resolver.argument_values(mapped) if mapped is not None else ()
            if len(operands) == 1 and isinstance(operands[0], Function):
                yield DeviceMap(name, value, operands[0], map_axes(name, value.arguments, self.resolver, {}))

    def _read(self, found: DeviceMap) -> Reading:
        spec = found.function.node.args
        count = len([*spec.posonlyargs, *spec.args]) - (found.function.receiver is not None)
        return read(found.function, self._arguments(found, count), found.axes or frozenset(), self.resolver)

    def _arguments(self, found: DeviceMap, count: int) -> list[Var]:
        """pmap's stacked arguments may be equal on all devices, for all that is known; a split block is not."""
        if found.name == PMAP:
            return [Var(Level.MAY)] * count
        specs = found.keyword("in_specs", 2)
        if specs is None or specs.expression is None:
            return [Var(Level.MAY)] * count
        if isinstance(specs.expression, ast.Tuple | ast.List):
            given = [spec_var(e, specs.module, self.resolver) for e in specs.expression.elts]
            return [*given, *[Var(Level.MAY)] * count][:count]
        return [spec_var(specs.expression, specs.module, self.resolver)] * count

    def unreduced_outputs(self, found: DeviceMap, reading: Reading) -> Iterator[tuple[Module, ast.expr, str]]:
        """The places where a device map declares an output replicated that certainly varies."""
        if found.name == PMAP:
            axes = found.keyword("out_axes")
            if axes is not None and axes.expression is not None:
                yield from out_vars(axes.expression, axes.module, reading.returned, self._is_none)
        elif self.unchecked(found):
            specs = found.keyword("out_specs", 3)
            if specs is not None and specs.expression is not None:
                yield from out_vars(specs.expression, specs.module, reading.returned, self._is_replicated)

    def _is_none(self, node: ast.expr, module: Module) -> bool:
        return self.resolver.value(node, module) == Constant(None)

    def _is_replicated(self, node: ast.expr, module: Module) -> bool:
        return spec_axes(node, module, self.resolver) == frozenset()

    def unchecked(self, found: DeviceMap) -> bool:
        """Whether JAX does not check what varies: always under pmap, under shard_map where that is turned off."""
        if found.name == PMAP:
            return True
        off = found.keyword("check_vma") or found.keyword("check_rep")
        return off is not None and self.resolver.argument_values(off) == (Constant(False),)

    def finding(
        self, module: Module, node: ast.expr, code: str, message: str, way: Sequence[Step] = ()
    ) -> Finding | None:
        """A finding at an expression, None where its file was not named; the steps of `way` become notes."""
        name = self.names.get(module.path)
        if name is None:
            return None
        notes = tuple(
            Note(self.names.get(s.module.path, s.module.path.as_posix()), *start(s.module, s.node), s.what) for s in way
        )
        line, column = start(module, node)
        end_line, end_column = end(module, node)
        return Finding(name, line, column, code, message, end_line, end_column, notes)


def _calls_by_name(module: Module) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    renamed = {b.name: b.node.name for b in module.table.imports() if isinstance(b.node, ast.alias) and b.node.asname}
    for call in module.table.calls:
        name = last_name(call.func)
        found.setdefault(renamed.get(name, name), []).append(call)
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
