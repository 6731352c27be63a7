"""Which sites of a project are rewritten with global arrays."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxmigrate.flow.layout import counted_devices, listed_devices
from jaxmigrate.flow.layout.choices import Layouts
from jaxmigrate.flow.layout.decide import layouts
from jaxmigrate.flow.layout.given_devices import is_given
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.interpreter import HostCode
from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.flow.layout.solve import Setup
from jaxmigrate.flow.layout.some_devices import given_to_all
from jaxmigrate.migrate import placing
from jaxmigrate.migrate.array_texts import Program
from jaxmigrate.migrate.asked_axes import may_be_asked
from jaxmigrate.migrate.decide import Decision, Surroundings, default_axis
from jaxmigrate.migrate.imports import has_jax_import
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, axis_of
from jaxmigrate.program.trust import Trust
from jaxmigrate.program.values import Argument, Constant


def can_hold(module: Module) -> bool:
    """Whether a file can be given the imports that global arrays need."""
    return has_jax_import(module) and module.runs_in_order


UNCHECKED = ("check_vma", "check_rep")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The layouts of a project and the facts that their text depends on.

    `more` are modules without a site that change as well, `axis` is that of maps that do not name theirs. `alone`: the
    program is taken for one process, though it counts its local devices. `apart`: each of several processes is taken
    for one, as all of its maps are over devices of its own.
    """

    layouts: Layouts
    program: Program
    more: tuple[Module, ...]
    axis: str = ""
    alone: bool = False
    apart: bool = False

    def covers(self, decision: Decision) -> bool:
        """Whether all sites of a reference are rewritten with global arrays, so that it needs no helper."""
        return bool(decision.sites) and all(self._is_global(site.node) for site in decision.sites)

    def has_parted(self, node: ast.expr) -> bool:
        """Whether a site takes or gives objects of which some fields are stacked, and others not."""
        choice = self.layouts.sites.get(node)
        return choice is not None and any(one.fields for one in choice.every)

    def _is_global(self, node: ast.expr) -> bool:
        choice = self.layouts.sites.get(node)
        return choice is not None and choice.is_global


@dataclass(frozen=True, slots=True)
class Mapped:
    """The mapped sites of some files with what was decided of them, and the project around these.

    `outside` are the sites of modules that run with the files and stay as they are, `texts` the files that may be
    rewritten, `reachable` those of the project that may join.
    """

    modules: dict[Path, Module]
    sites: dict[Module, list[MappedSite]]
    decisions: dict[Module, list[Decision]]
    outside: Mapping[Module, Sequence[MappedSite]]
    around: Surroundings
    texts: Mapping[Path, str]
    reachable: ReachableModules

    def add(self, module: Module) -> None:
        """Takes in a module without a site, which changes as well."""
        self.modules[module.path], self.sites[module], self.decisions[module] = module, [], []


@dataclass(frozen=True, slots=True)
class Unwritten:
    """The sites that were tried in vain: with any global array, or with objects some of whose fields are stacked."""

    refused: frozenset[ast.expr] = frozenset()
    whole: frozenset[ast.expr] = frozenset()

    def with_failed(self, failed: Collection[ast.expr], chosen: Chosen | None) -> Unwritten:
        """The same after a writing that failed at some sites: at first objects that have parts stay whole."""
        parted = {one for one in failed if chosen is not None and one not in self.whole and chosen.has_parted(one)}
        return Unwritten(self.refused | {*failed} - parted, self.whole | parted)


def choose(mapped: Mapped, resolver: Resolver, trust: Trust, unwritten: Unwritten) -> Chosen:
    """Follows stacked arrays through a project; what cannot be proven is left to the stacked helper.

    `trust` is what counts beside proof.
    """
    sites, around = mapped.sites, mapped.around
    left = [d for ds in mapped.decisions.values() for d in ds if not d.is_plain or d.around]
    refused = {*unwritten.refused, *(s.node for d in left for s in d.sites)}
    candidates = {s.node: s for m, found in sites.items() if can_hold(m) for s in found if s.node not in refused}
    if not candidates:
        return Chosen(Layouts(), Program(around.processes, around.guarded), ())
    active = sorted({site.module for site in candidates.values()}, key=lambda module: module.path)
    axis = _common_axis(candidates.values(), resolver)
    if axis is None or (_some_lack_a_name(candidates.values(), resolver) and may_be_asked(resolver, active)):
        axis = default_axis([*mapped.texts.values()])
    every = {**sites, **mapped.outside}
    own_devices = around.processes and _are_given_own(every, resolver)
    some = None if around.several else given_to_all((one for ones in every.values() for one in ones), resolver)
    own_devices |= some is not None

    def editable(module: Module) -> bool:
        return module.path in mapped.texts and can_hold(module)

    def followed(setup: Setup) -> Layouts:
        found = Layouts()
        for own_reachable in mapped.reachable.programs(module.path for module in active):
            own_resolver = _of_program(resolver, own_reachable)
            own_modules = [module for module in active if module.path in own_reachable.given]
            own_sites = {node: site for node, site in candidates.items() if site.module in own_modules}
            code = HostCode(own_resolver, own_modules, own_sites, editable, own_reachable)
            found.add(layouts(code, setup, trust))
        return found

    setup = Setup(axis, around.processes, around.guarded, around.several, own_devices, some, unwritten.whole)
    found = followed(setup)
    all_sites = [one for ones in every.values() for one in ones]
    lists = listed_devices.given(all_sites, resolver)
    if (lists is None or not lists.of_maps) and not around.several and (trust.likely or not around.processes):
        lists = counted_devices.chosen(all_sites, resolver, lists) or lists
    apart = around.several and lists is not None and lists.are_own
    by_one = around.processes if lists is not None and lists.is_counted else around.several
    alone = apart or (by_one and trust.likely and lists is not None and lists.are_put_by_one)
    if some is not None or around.several > alone or lists is None or not (trust.likely or lists.is_certain):
        lists = None
    else:
        over_lists = followed(replace(setup, lists=lists, alone=alone))
        some_global = any(one.is_global for one in over_lists.sites.values())
        if apart and not all((one := over_lists.sites.get(s.node)) and one.is_global for s in all_sites):
            apart = False  # what stays stacked is written for one process, or for the devices of all
            some_global &= trust.likely and lists.are_put_by_one
        lists = lists if some_global and over_lists.is_at_least(found) else None
        found, own_devices = (over_lists, True) if lists is not None else (found, own_devices)
    alone &= lists is not None
    if found.parted and trust.likely and not around.several and lists is None:
        as_one = followed(replace(setup, alone=True))
        alone = as_one.is_more(found)
        found = as_one if alone else found
    processes = around.processes and not alone
    program = Program(processes, around.guarded and not alone, own_devices=own_devices, some=some, lists=lists)
    own = processes and _gives_shared(every, found)
    program = replace(program, unlike=_may_be_unlike(every, found, resolver), own=own)
    replaced = {c.op.node for c in found.ops if c.layout != "stacked"}
    placed, gives_up = placing.keeps_on_one(resolver, replaced), placing.gives_up(resolver)
    program = replace(program, placed=placed, gives_up=gives_up)
    squeezed = {s.function.module for c in found.sites.values() if c.is_global for s in c.squeezes}
    more = {*(c.op.module for c in found.ops), *(c.module for c in found.calls), *squeezed} - set(
        mapped.modules.values()
    )
    return Chosen(found, program, tuple(sorted(more, key=lambda m: m.path)), axis, alone, apart and lists is not None)


def _are_given_own(sites: Mapping[Module, Sequence[MappedSite]], resolver: Resolver) -> bool:
    """Whether every map is given the devices of its process: then that is where all arrays lie."""
    is_count = Idioms(resolver).is_count
    every = (site for of_module in sites.values() for site in of_module)
    return all(is_given(site, "own", resolver, is_count) for site in every)


def _of_program(resolver: Resolver, reachable: ReachableModules) -> Resolver:
    """What resolves names within one program of a project: what other programs replace and hold is none of it."""
    named = [module for module in resolver.project.named if module.path in reachable.given]
    if len(named) == len(resolver.project.named):
        return resolver
    return Resolver(resolver.project.part(named, reachable.beside({module.path for module in named})))


def _may_be_unlike(sites: Mapping[Module, Sequence[MappedSite]], found: Layouts, resolver: Resolver) -> bool:
    """Whether an array that lies on all devices may hold unlike copies; global sites give none that do."""
    if any(word in module.text for module in resolver.project.named for word in UNCHECKED):
        return True
    every = (site for of_module in sites.values() for site in of_module)
    return any(
        site.is_open or not _is_number(site.keyword("out_axes"))
        for site in every
        if (choice := found.sites.get(site.node)) is None or not choice.is_global
    )


def _gives_shared(sites: Mapping[Module, Sequence[MappedSite]], found: Layouts) -> bool:
    """Whether some map may give an array without a device axis, as `out_axes=None` does."""
    every = (site for of_module in sites.values() for site in of_module)
    return any(
        any(output.layout == "broadcast" for output in choice.outputs)
        if (choice := found.sites.get(site.node)) is not None
        else not _is_number(site.keyword("out_axes"))
        for site in every
    )


def _is_number(argument: Argument | None) -> bool:
    """Whether the axis that a map gives its outputs is left out, or a number for all of them."""
    value = argument.expression if argument is not None else None
    return argument is None or (isinstance(value, ast.Constant) and isinstance(value.value, int))


def _some_lack_a_name(sites: Iterable[MappedSite], resolver: Resolver) -> bool:
    return any(axis_of(site, resolver) is None for site in sites)


def _common_axis(sites: Iterable[MappedSite], resolver: Resolver) -> str | None:
    """The name that most maps of a project give their axis: maps without one lie on the same mesh."""
    axes = Counter(
        axis.value
        for site in sites
        if isinstance(axis := axis_of(site, resolver), Constant) and isinstance(axis.value, str)
    )
    return axes.most_common(1)[0][0] if axes else None
