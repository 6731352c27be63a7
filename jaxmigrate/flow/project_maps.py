"""The device maps of a project: what `pmap`, `shard_map` and the like are given, in sight or by other functions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from jaxmigrate.flow.alternatives import alternatives
from jaxmigrate.flow.axes import may_be_mapped
from jaxmigrate.flow.axis_values import map_axes
from jaxmigrate.flow.map_prefilter import MapPrefilter
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.flow.maps_of_callers import maps_of_callers
from jaxmigrate.flow.operations import is_device_map
from jaxmigrate.flow.readings import DeviceMap, axes_of_one, innermost, method_of_made, partial_beneath
from jaxmigrate.flow.unmapped import axes_in
from jaxmigrate.flow.wrappers import mapped_within, unwrapped
from jaxmigrate.program.checking_decorators import beneath
from jaxmigrate.program.collectives import COMMUNICATING, ONE_AXIS_MAPS, PMAPS, SHARD_MAPS, VMAP, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External, Function, Partial, Value
from jaxmigrate.records import replace

ANY_FUNCTION = ast.Lambda(
    ast.arguments([], [ast.arg(f"argument{n}") for n in range(16)], None, [], [], None, []), ast.Constant(None)
)
DEVICE_MAPS = SHARD_MAPS | PMAPS | ONE_AXIS_MAPS


class ProjectMaps:
    """The maps that modules make; `leads` says which calls may lead to one."""

    def __init__(self, modules: Sequence[Module], resolver: Resolver, leads: MapPrefilter) -> None:
        self.modules = modules
        self.resolver = resolver
        self.leads = leads
        self._named_axes: dict[Module, frozenset[str]] = {}
        self._unknown: list[Application] = []  # of functions that are not in sight where they stand

    @cached_property
    def every(self) -> list[DeviceMap]:
        """Every pmap and shard_map of a function in sight, or of something made of one."""
        known = {one.application.node for one in self._direct}
        passed = [(made, at) for made, at in self.passed if made.node is at or made.node not in known]
        return [*self._direct, *(found for made, at in passed for found in self._made_by(made, at))]

    @cached_property
    def opaque_pmaps(self) -> list[DeviceMap]:
        """The pmaps of functions that are not in sight, which take any arguments."""
        known = {one.application.node for one in self.every}
        unknown = [(one, one.callee) for one in self._unknown if one.node not in known]
        found = [(one, callee.name) for one, callee in unknown if isinstance(callee, External) and callee.name in PMAPS]
        each = ((one, name, Function(one.module, ANY_FUNCTION)) for one, name in found)
        return [DeviceMap(name, one, function, None, function) for one, name, function in each]

    @cached_property
    def _direct(self) -> list[DeviceMap]:
        return [found for module in self.modules for found in self._device_maps(module)]

    @cached_property
    def passed(self) -> list[tuple[Application, ast.AST]]:
        """What functions of the program are given to map, and what others have for a method, each with its map."""
        callers = maps_of_callers(self.resolver)
        direct = self._direct
        found: list[tuple[Application, ast.AST]]
        found = [(made, one.node) for one in self._unknown for made in callers.of(one)]
        for one in direct:
            if one.axes is None and one.within is None:
                found += [(made, one.application.node) for made in callers.of(one.application)]
            found += [(made, one.application.node) for made in callers.overriding(one.application, one.function)]
        return found

    def _made_by(self, made: Application, mapping: ast.AST) -> Iterator[DeviceMap]:
        return (replace(found, within=mapping) for found in self._device_map(made))

    @cached_property
    def of_functions(self) -> list[DeviceMap]:
        """Every pmap and shard_map of a function in sight itself."""
        return [found for found in self.every if found.mapped is found.function]

    def named_vmaps(self, calls: Iterable[tuple[Module, ast.Call]]) -> Iterator[DeviceMap]:
        """The maps of some calls of vmap that are told an axis name."""
        for module, call in calls:
            if any(keyword.arg == "axis_name" for keyword in call.keywords):
                made = self.resolver.value(call, module)
                if isinstance(made, Application) and made.node is call and made.callee == External(VMAP):
                    yield from self._device_map(made, {VMAP})

    def of_several(self, vmaps: Iterable[DeviceMap]) -> list[DeviceMap]:
        """Every device map and some of vmap, without the axes along which there is one device."""
        maps = (*(self._with_axis(one) for one in self.every), *vmaps)
        found = [(one, axes_of_one(one, self.resolver)) for one in maps]
        return [
            replace(one, axes=(one.axes or frozenset()) - alone) if alone else one
            for one, alone in found
            if not alone or one.axes != alone
        ]

    def _with_axis(self, found: DeviceMap) -> DeviceMap:
        """A pmap whose arguments are not in sight, with the one axis that the module of its function ever names."""
        if found.axes is not None or found.name not in PMAPS:
            return found
        module = found.function.module
        if module not in self._named_axes:
            self._named_axes[module] = axes_in(module, COMMUNICATING, self.resolver)
        axes = self._named_axes[module]
        return replace(found, axes=axes) if len(axes) == 1 else found

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
        within = mapped_within(value, self.resolver)
        value = (
            unwrapped(value, self.resolver) if within is None else replace(within, node=value.node, module=value.module)
        )
        while isinstance(value.callee, External) and value.callee.name in JITS:
            given = argument(value.arguments, 0, "fun")
            inner = given.value if given is not None else None
            if not isinstance(inner, Application):
                return
            value = unwrapped(inner, self.resolver)
        if not isinstance(value.callee, External) or not value.arguments:
            return
        name = value.callee.name
        if name in wanted:
            mapped = argument(value.arguments, 0, "fun", "f")
            operands = self.resolver.argument_values(mapped) if mapped is not None else ()
            # `step = pmap(step)` is given itself
            own = (beneath(o) for o in operands if not is_device_map(o))
            operands = tuple(method_of_made(o, self.resolver) for o in own)
            operand = operands[0] if len(operands) == 1 else wrapped_at_times(operands, self.resolver)
            each = [operand] if operand is not None else alternatives(operands)
            each = [partial_beneath(one, self.resolver) for one in each]
            made = [(one, function) for one in each if (function := innermost(one, self.resolver)) is not None]
            if not made:
                self._unknown.append(value)
            for one, function in made:
                axes = map_axes(name, value.arguments, self.resolver, {}, (value.node, value.module))
                yield DeviceMap(name, value, function, axes, one, None if within is None else within.node)


def wrapped_at_times(operands: Sequence[Value], resolver: Resolver) -> Value | None:
    """A function that a library's `checkify(f)` is made of under some condition; None where others are meant."""
    plain = [one for one in operands if isinstance(one, Function | Partial)]
    others = [one for one in operands if one not in plain]
    if len(plain) != 1 or not others:
        return None
    for other in others:
        if not isinstance(other, Application) or not isinstance(other.callee, External) or not other.arguments:
            return None
        if plain[0] not in resolver.argument_values(other.arguments[0]):
            return None
    return plain[0]
