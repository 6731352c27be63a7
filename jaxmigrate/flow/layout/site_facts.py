"""What a mapped site says of itself: its axis, what is mapped, static and donated, and what speaks against it."""

from __future__ import annotations

import ast
from dataclasses import replace

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.flow.layout import advice, identities, results
from jaxmigrate.flow.layout.causes import GIVES_BACK, NO_CALL, Reason, Stacked
from jaxmigrate.flow.layout.given_devices import GivenDevices
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.values import PROCESSES, Blocker, Remedy
from jaxmigrate.flow.variance import loaded_beside
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import axis_of, listed, literal_of
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Argument, Constant

OWN = Stacked.MAP_STAYS.reason("pmap is given the devices of this process, while others may take those of all")
UNLISTED = Stacked.MAP_STAYS.reason("pmap is given no devices, while others are, and none of these are in sight there")
OF_PROGRAM = ("replaced", "apart")  # the advice that holds for mapped functions as for arrays


class SiteFacts:
    """The facts about the sites of a program; `several`: it says that it runs as several processes.

    `default_axis` names the axes that have no name. `apart`: where there are several, maps over the devices of one
    process would stand beside others over all.
    """

    def __init__(self, it: Interpreter, default_axis: str) -> None:
        self.it = it
        self.default_axis = default_axis
        self.several = True
        self.apart = False
        self.own = False
        self.counts = self._counts()
        self.leans: dict[ast.expr, dict[Assumption, None]] = {}  # what a site's global arrays rest on
        self._listed: dict[tuple[ast.expr, str], tuple[int, ...] | None] = {}

    def _counts(self) -> dict[ast.expr, int]:
        """How many arguments each site is called with; -1 where calls differ."""
        found: dict[ast.expr, int] = {}
        for call in self.it.maps.calls.values():
            count = len(call.arguments)
            found[call.site] = count if found.get(call.site, count) == count else -1
        return found

    def blocked(self, node: ast.expr) -> Reason | Blocker | None:
        """Why a site cannot be a shard_map over global arrays at all; None where it may."""
        site = self.it.sites[node]
        blocker = self.it.blockers.escaped.get(node) or self._replaced_beside(node, site.module)
        if blocker is not None:
            remedy = blocker.remedy if blocker.remedy is not None and blocker.remedy.kind in OF_PROGRAM else None
            said = f"the mapped function {blocker.reason}"
            reason = Stacked.MAP_STAYS.reason(said, blocker.reason.topic)
            return replace(blocker, reason=reason, remedy=remedy)
        if self.counts.get(node, 0) == -1:
            return Stacked.MAP_STAYS.reason("it is called with a different number of arguments in different places")
        if node not in self.counts:
            return GIVES_BACK if identities.site_gives_back(site, self.it.resolver) else NO_CALL
        if site.is_open:
            return Stacked.MAP_STAYS.reason("pmap is called with * or **")
        if self.apart and node in self.it.maps.compiled:
            return Stacked.MAP_STAYS.reason("jax.jit compiles it, so that each process maps over its own devices")
        if where := self._speaks_against_devices(node):
            return where
        if self.axis(node) is None:
            return self._option(node, "axis_name", "its axis name is only known at run time")
        axes = self.in_axes(node)
        if axes is None:
            return self._unusual(node, "in_axes")
        if not self._has_usual_outputs(node):
            return self._unusual(node, "out_axes")
        if self.positions(node, "static_broadcasted_argnums") is None:
            return self._option(node, "static_broadcasted_argnums", "its static arguments are only known at run time")
        if self.positions(node, "donate_argnums") is None:
            return self._option(node, "donate_argnums", "what it donates is only known at run time")
        return None

    def _speaks_against_devices(self, node: ast.expr) -> Reason | Blocker | None:
        """Why a site does not map over the devices that its arrays lie on."""
        site, some = self.it.sites[node], self.it.idioms.some
        if isinstance(some, ListedDevices) and some.of_site(site) is None:
            return UNLISTED
        for name in ("devices", "backend", "axis_size"):
            given = site.keyword(name)
            usual = given is not None and name == "devices" and self._is_usual(node, given)
            if given is not None and not usual and not self._are_own(given):
                return self._option(node, name, f"pmap is given `{name}=`")
            if given is not None and not usual:
                return Blocker(OWN, site.module, node, remedy=PROCESSES)
            if given is not None and self.apart and not self._are_every(given):
                return Blocker(OWN, site.module, node, remedy=PROCESSES)
        return None

    def _are_own(self, given: Argument) -> bool:
        """Whether an argument is the list of this process's devices, where there may be others."""
        own, listed = GivenDevices(self.it.resolver, lambda *_: False, "own"), given.expression
        return self.several and listed is not None and own.are_all(listed, given.module)

    def _are_every(self, devices: Argument) -> bool:
        """Whether the devices given to pmap are not only those of one process, where there are several."""
        every = GivenDevices(self.it.resolver, self.it.idioms.is_count, "every")
        listed, module = devices.expression, devices.module
        return listed is not None and (every.are_first(listed, module) or every.are_none(listed, module))

    def _unusual(self, node: ast.expr, keyword: str) -> Reason | Blocker:
        if literal_of(self.it.sites[node], keyword, 0, self.it.resolver) is not ...:
            return Stacked.MAP_STAYS.reason(f"its {keyword} are not all 0 or None")
        return self._option(node, keyword, f"its {keyword} are only known at run time")

    def _option(self, node: ast.expr, keyword: str, says: str) -> Reason | Blocker:
        """Why an argument of pmap speaks against a site: what it is, and where."""
        reason, given = Stacked.MAP_STAYS.reason(says), self.it.sites[node].keyword(keyword)
        if given is None or given.expression is None:
            return reason
        value = given.expression
        known = literal_of(self.it.sites[node], keyword, None, self.it.resolver)
        behind = "" if known is not ... else advice.origin(self.it, value, given.module)
        return Blocker(reason, given.module, value, behind, Remedy("option", keyword))

    def _replaced_beside(self, node: ast.expr, module: Module) -> Blocker | None:
        """Where a process that runs the functions of a module replaces functions of the project that may matter."""
        if not self.it.blockers.replaced:
            return None
        beside = loaded_beside(self.it.resolver, module)
        for name, blocker in [one for one in self.it.blockers.replaced.values() if one[1].module in beside]:
            says = f"monkeypatching `{name}` does not affect this mapped function"
            granted = self.it.trust.grants("never-replaced", name, says, blocker.module, blocker.node)
            if granted is None:
                return blocker
            self.it.leans = True
            self.leans.setdefault(node, {})[granted] = None
        return None

    def _has_usual_outputs(self, node: ast.expr) -> bool:
        """Whether each output has its device axis in front, or none."""
        axes = literal_of(self.it.sites[node], "out_axes", 0, self.it.resolver)
        each = axes if isinstance(axes, tuple) else (axes,)
        if not all(axis is None or results.is_first(axis) for axis in each):
            return False
        return each is not axes or results.parts_of(self.it, node, self.counts[node]) == len(each)

    def _is_usual(self, node: ast.expr, devices: Argument) -> bool:
        """Whether the devices given to pmap are those that it takes by itself, where a process has them all."""
        if devices.expression is None:
            return False
        given, listed, module = self.it.idioms.given, devices.expression, devices.module
        if self.it.idioms.some is not None:
            listed_there = isinstance(self.it.idioms.some, ListedDevices) and given.are_none(listed, module)
            return not self.several and (listed_there or self.it.idioms.is_devices(listed, module))
        if self.several:  # each of which would map over devices of its own, and reduce over them alone
            given = GivenDevices(self.it.resolver, lambda *_: False, "own" if self.own else "every")
        if given.are_all(listed, module) or given.are_none(listed, module):
            return True
        handled = any(is_tried(c.node, c.module) for c in self.it.maps.calls.values() if c.site is node)
        alone = not self.several and not handled  # else it may be for the devices to raise, where there are others
        return alone and given.are_first(listed, module)

    def axis(self, node: ast.expr) -> str | None:
        """The name of the axis that a site maps; None where it is only known at run time."""
        axis = axis_of(self.it.sites[node], self.it.resolver)
        if axis is None:
            return self.default_axis
        return axis.value if isinstance(axis, Constant) and isinstance(axis.value, str) else None

    def in_axes(self, node: ast.expr) -> tuple[int | None, ...] | None:
        """0 or None for each argument; what is static counts as None."""
        axes, static = self._given_axes(node), self.positions(node, "static_broadcasted_argnums")
        if axes is None or not static:
            return axes
        return tuple(None if i in static else axis for i, axis in enumerate(axes))

    def _given_axes(self, node: ast.expr) -> tuple[int | None, ...] | None:
        named = (0,) * len(self.it.maps.by_keyword.get(node, ()))
        count = self.counts.get(node, 0) - len(named)
        argument = self.it.sites[node].keyword("in_axes")
        if argument is None:
            return (0,) * count + named
        value = self.it.resolver.literal(argument)
        if isinstance(value, list | tuple):
            static = self.positions(node, "static_broadcasted_argnums") or ()
            rest = range(len(value), count)  # static arguments may come last unsaid
            axes = [*(None if i in static else _of_tree(v) for i, v in enumerate(value)), *(None for _ in rest)]
            known = len(axes) == count and not any(axis is ... for axis in axes) and {*rest} <= {*static}
            return (*(0 if axis == 0 else None for axis in axes), *named) if known else None
        return (0,) * count + named if value == 0 and value is not None else None

    def positions(self, node: ast.expr, keyword: str) -> tuple[int, ...] | None:
        """The positions that a keyword of a site lists, of those of its calls; None where only a run tells them."""
        if (node, keyword) not in self._listed:
            self._listed[node, keyword] = self._read_positions(node, keyword)
        return self._listed[node, keyword]

    def _read_positions(self, node: ast.expr, keyword: str) -> tuple[int, ...] | None:
        found = listed(self.it.sites[node], keyword, self.it.resolver)
        first = self.counts.get(node, 0) - len(self.it.maps.by_keyword.get(node, ()))
        return tuple(i for i in found if i < first) if found is not None else None


def _of_tree(axes: object) -> object:
    """The axis that all arrays of an argument are mapped over, 0 or None; `...` where it is another or they differ."""
    if axes is None or (axes == 0 and not isinstance(axes, bool)):
        return axes
    inner = [*axes.values()] if isinstance(axes, dict) else axes if isinstance(axes, list | tuple) else ()
    found = [_of_tree(one) for one in inner]
    return found[0] if found and all(one == found[0] for one in found) else ...
