"""Which map each site of a project gets: by the layouts that were chosen for its arrays, and by its devices."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jaxmigrate.flow.layout.choices import SiteChoice
from jaxmigrate.flow.layout.counts import (
    counts_devices,
    has_fixed_rows,
    makes_one_row,
    may_be_fewer,
    may_map_fewer,
)
from jaxmigrate.flow.layout.device_lists import changes_devices
from jaxmigrate.migrate.array_texts import Program
from jaxmigrate.migrate.asked_axes import may_be_asked
from jaxmigrate.migrate.compiled import compiling
from jaxmigrate.migrate.decide import Surroundings, default_axis
from jaxmigrate.migrate.file_work import FileWork
from jaxmigrate.migrate.host_calls import lays_out_arguments
from jaxmigrate.migrate.layouts import Chosen
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.one_axis import own_axes, says_axis
from jaxmigrate.migrate.one_device import Alone, arguments_alone
from jaxmigrate.migrate.other_devices import may_order_devices, uses_other_devices
from jaxmigrate.migrate.site_calls import arguments_of
from jaxmigrate.migrate.site_maps import of_choice, of_site
from jaxmigrate.migrate.unasked_axes import is_unasked
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, axis_of
from jaxmigrate.program.values import Application, Constant, External, Value

VMAP_AXIS = re.compile(r"vmap\b[^#\n]*axis_name|spmd_axis_name")  # which may be bound around a map


class MapPlans:
    """The maps of one project's sites, each worked out once."""

    def __init__(
        self,
        works: Sequence[FileWork],
        chosen: Chosen | None,
        resolver: Resolver,
        around: Surroundings,
        project: Project,
    ) -> None:
        self.works = works
        self.chosen = chosen
        self.resolver = resolver
        self.around = around
        self.project = project
        self.program = chosen.program if chosen is not None else Program(around.processes, around.guarded)
        self.default_axis = chosen.axis if chosen is not None and chosen.axis else self._default_axis()
        self.around_maps = False  # also where the calls of a map could lay out what it takes
        self.changed = _without_device(chosen) if chosen is not None else frozenset[ast.expr]()
        self._plans: dict[ast.expr, MapPlan | None] = {}
        self._alone: dict[Module, list[tuple[MappedSite, Alone]]] | None = None
        self._counted: dict[Module, bool] = {}
        self.own_axes = self._own_axes()

    def forget(self) -> None:
        """Works the maps out anew, for another answer of where arrays are laid out."""
        self._plans.clear()

    def lays_out_at_calls(self) -> bool:
        """Whether the calls of some map lay out what they give it."""
        return any(plan is not None and plan.at_calls for plan in self._plans.values())

    def choice(self, site: MappedSite) -> SiteChoice | None:
        """The choice of a site that has global arrays."""
        found = self.chosen.layouts.sites.get(site.node) if self.chosen is not None else None
        return found if found is not None and found.is_global else None

    def of(self, site: MappedSite) -> MapPlan | None:
        """The map of a site; none where its mesh is not that of all devices and one device holds what it is given.

        What one device holds is laid out where it is given; by the map itself, where not all of that can be reached.
        """
        if site.node not in self._plans:
            plan = self._mapped_as(site)
            if plan is not None and (alone := self._alone_of(site)) != []:
                own_mesh = plan.by_rows or plan.has_own_mesh or not plan.axis_name
                plan = None if own_mesh else plan if alone is not None else replace(plan, lays_out=True)
            elif plan is not None and self._has_own_devices(plan):
                plan = replace(plan, own_devices=True)
            elif plan is not None and self._is_laid_out_at_calls(site) and fits_calls(plan):
                plan = replace(plan, at_calls=True)
            self._plans[site.node] = self._over_main(plan) if plan is not None else None
        return self._plans[site.node]

    def _over_main(self, plan: MapPlan) -> MapPlan:
        """A map over the main axis, where its own is one that nothing else asks for."""
        if plan.axis_name not in self.own_axes:
            return plan
        said = says_axis(plan.site, plan.axis_name, self.resolver)
        return replace(plan, axis=self.default_axis, axis_name=self.default_axis, said_axes=tuple(said))

    def _own_axes(self) -> frozenset[str]:
        """The axes of maps that are written over that of most others, which is the default from then on."""
        one_mesh = self.program.lists is None and self.program.some is None and not self.program.own_devices
        one_mesh &= not any(VMAP_AXIS.search(module.text) for module in self.project.named)
        nested = any(d.inner or d.inside or d.around or d.nested for work in self.works for d in work.decisions)
        own = own_axes(self.sites(), self.resolver) if one_mesh and not nested else frozenset()
        known = self._axes(self.sites())
        others = Counter({axis: count for axis, count in known.items() if axis not in own})
        if not own or not others or may_be_asked(self.resolver, {site.module for site in self.sites()}):
            return frozenset()
        if self.default_axis in own:
            self.default_axis = others.most_common(1)[0][0]
        return own if self.default_axis in known else frozenset()

    def _is_laid_out_at_calls(self, site: MappedSite) -> bool:
        """Whether the calls of a map of stacked arrays lay out what they give it."""
        if self.around_maps:
            return False
        found = self.chosen.layouts.sites.get(site.node) if self.chosen is not None else None
        return found is not None and found.at_calls

    def _has_own_devices(self, plan: MapPlan) -> bool:
        """Whether each process can map its rows over devices of its own, which is what pmap does then.

        So it is under `jax.jit`, where it is given these, or where its axis has no name or one that nothing in it can
        say: no collective can ask for those of others. What has no rows may come from a map over all processes, where
        some give such.
        Global arrays lie on these where all maps of the program are given them.
        """
        if plan.choice is not None:
            return self.program.own_devices
        if not self.around.processes or plan.by_rows:
            return False
        if plan.devices is not None:
            argument = plan.site.keyword("devices")
            return argument is not None and all(map(_is_local, self.resolver.argument_values(argument)))
        if not (plan.takes_rows or not self._has_shared()):
            return False
        if axis_of(plan.site, self.resolver) is None or compiling(plan.site, self.resolver) is not None:
            return True
        return self.around.several and is_unasked(plan.site, self.resolver)

    def _has_shared(self) -> bool:
        """Whether some array may lie on all devices of the program as one."""
        choices = self.chosen.layouts.sites.values() if self.chosen is not None else ()
        return self.program.own or any(choice.is_global for choice in choices)

    def _mapped_as(self, site: MappedSite) -> MapPlan | None:
        choice = self.choice(site)
        unknown = choice is None or any(
            part.layout in ("stacked", "broadcast") for one in choice.arguments for part in one.leaves
        )
        lists = self.program.lists
        on_one = self.program.some is not None or (lists is not None and len(lists.idents) == 1 and choice is not None)
        elsewhere = unknown and not on_one and uses_other_devices(site.module, self.resolver)
        if elsewhere:
            return None  # what is known to be global lies on all devices in their order
        plan = self._by_layouts(site, choice)
        moves = lays_out_arguments(site, self.resolver, stacked=unknown)
        moves = moves or (unknown and may_order_devices(site.module, self.resolver))
        return replace(plan, moves=True) if plan is not None and moves else plan

    def _by_layouts(self, site: MappedSite, choice: SiteChoice | None) -> MapPlan | None:
        """The map of a site by the layouts of its arrays, or of stacked ones."""
        if choice is not None:
            plan = of_choice(choice, self.resolver, site.module)
            return replace(plan, devices=self.program.lists.given_to(site)) if self.program.lists is not None else plan
        fixed = (has_fixed_rows(one, module) for one, module in arguments_of(site, self.resolver))
        all_devices = self._counts_devices(site) and not any(fixed)
        return of_site(site, self.resolver, self._axis_of_others(site.module), all_devices=all_devices)

    def _counts_devices(self, site: MappedSite) -> bool:
        """Whether a file's maps run on all devices: it counts them, or others that mention it do, and takes no part.

        The devices that a site itself is given say nothing of that.
        """
        module, given = site.module, site.keyword("devices")
        if given is not None and given.expression is not None and given.module is module:
            part = may_be_fewer(module, set(ast.walk(given.expression))) or changes_devices(module, self.resolver)
            return counts_devices(module) and not part
        if module not in self._counted:
            stem = module.path.stem
            near = [m for m in self.project.named if m is module or stem in m.text]
            counted = self.around.processes or any(map(counts_devices, near))
            counted = counted and not makes_one_row(module)
            self._counted[module] = counted and not may_map_fewer(module, near, self.resolver)
        return self._counted[module]

    def _axis_of_others(self, module: Module) -> str:
        """A name for the axes without one of a file: that of its others, where they have one in common."""
        own = self._axes(site for site in self.sites() if site.module is module)
        is_named = self.default_axis in self._axes(self.sites())
        return next(iter(own)) if len(own) == 1 and is_named else self.default_axis

    def _axes(self, sites: Iterable[MappedSite]) -> Counter[str]:
        """The names of the axes of sites, with how many have each."""
        found = (axis_of(site, self.resolver) for site in sites)
        return Counter(a.value for a in found if isinstance(a, Constant) and isinstance(a.value, str))

    def _default_axis(self) -> str:
        """A name for axes without one: that of the others, unless some code may ask whether it is bound."""
        texts = [m.text for m in self.project.named]
        known = self._axes(self.sites())
        if known and not may_be_asked(self.resolver, {site.module for site in self.sites()}):
            return known.most_common(1)[0][0]
        return default_axis(texts)

    def arguments_alone(self) -> Mapping[Module, Sequence[tuple[MappedSite, Alone]]]:
        """By file, the arguments that one device holds, with the sites that take them."""
        if self._alone is None:
            self._alone = {}
            for site in self.sites():
                for argument in self._alone_of(site) or ():
                    self._alone.setdefault(argument.module, []).append((site, argument))
        return self._alone

    def sites(self) -> Iterator[MappedSite]:
        """The sites that may show a map of their own."""
        for work in self.works:
            yield from (site for d in work.decisions if d.is_plain for site in d.sites)
            yield from (one.site for one in work.aliased)

    def _alone_of(self, site: MappedSite) -> list[Alone] | None:
        """The arguments of a site that one device holds; None where not all of them can be reached."""
        choice = self.choice(site)
        if choice is not None:
            places = [i for i, a in enumerate(choice.arguments) if a.layout == "broadcast"]
        elif site.keyword("in_axes") is None:
            return []
        else:
            plan = self._mapped_as(site)
            places = [i for i, a in enumerate(plan.inputs if plan is not None else ()) if not a.split and not a.static]
        found = arguments_alone(site, places, self.resolver, self.changed) if places else []
        own = {work.module for work in self.works}
        return found if found is None or all(a.module in own for a in found) else None


def fits_calls(plan: MapPlan) -> bool:
    """Whether all devices take the rows of what is given and returned, so that a call can say where these lie."""
    usual = all(array.drops and array.axis == 0 for array in plan.everything if not array.static)
    by_place = not (plan.given_by_keyword or plan.any_keywords or plan.by_rows)
    return usual and by_place and not (plan.has_own_mesh or plan.own_devices) and bool(plan.axis_name)


def _without_device(chosen: Chosen) -> frozenset[ast.expr]:
    """The operations that give no array of one device any more; one slice may still lie on one, where others do."""
    may_lie, gives_up = chosen.program.placed or chosen.program.guarded, chosen.program.gives_up
    first = (c for c in chosen.layouts.ops if c.op.kind == "first" and not c.for_all)
    apart = (c.op.node for c in first if may_lie and (gives_up or not c.lent))
    return chosen.layouts.replaced.difference(apart)


def _is_local(value: Value) -> bool:
    """Whether a value is the list of this process's devices."""
    return isinstance(value, Application) and value.callee == External("jax.local_devices")
