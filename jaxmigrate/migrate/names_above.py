"""What maps need above the statements that they stand in: names for meshes, specs and functions around functions."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from dataclasses import dataclass, field, replace

from jaxmigrate.migrate.bodies import Words
from jaxmigrate.migrate.given_arrays import given_arrays
from jaxmigrate.migrate.map_parts import MapParts
from jaxmigrate.migrate.map_places import MapPlaces
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.one_array import Around
from jaxmigrate.migrate.repeated_maps import Key, RepeatedMaps
from jaxmigrate.migrate.site_calls import names_of_results
from jaxmigrate.migrate.specs import named
from jaxmigrate.migrate.stable_names import StableNames
from jaxmigrate.migrate.style import style_of
from jaxmigrate.migrate.wrappers import Known
from jaxmigrate.migrate.wrappers import wrapper as function_around
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Before, Code, Operation, code
from jaxmigrate.program.sites import mapped_values
from jaxmigrate.program.syntax import last_name

MAKES = re.compile(r"^_*(?:get|make|create|build)_")  # what a function is called that gives others
MADE = re.compile(r"_(?:lambda|fn|func|function)$")
NUMBERS = range(2, 9)  # of names that others of a function have already


@dataclass(slots=True, eq=False)
class NamesAbove:
    """Says once, above, what sites of one file say several times; `operations` are where the statements are added."""

    module: Module
    parts: MapParts
    places: MapPlaces
    stable: StableNames
    repeated: RepeatedMaps
    operations: list[Operation]
    _common: dict[Key, str] = field(default_factory=dict)  # what shard_map with mesh and specs is called
    _known: dict[str, list[tuple[str, ast.stmt]]] = field(default_factory=dict)  # the names, by what they say

    def name(self, plan: MapPlan, *proposals: str) -> str:
        """A name for something above the statement of a site."""
        return self.parts.names.local(self.places.holder(plan.site.node), *proposals)

    def bound(self, plan: MapPlan) -> str:
        """A name for what is mapped, which is evaluated once, above its statement: `step` beside `p_step`."""
        stem = self.places.stem(plan)
        statement = self.module.table.statement_of(plan.site.node)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        is_own = isinstance(target, ast.Name) and target.id == stem
        mapped = plan.site.mapped.expression if plan.site.mapped is not None else None
        if is_own and isinstance(mapped, ast.Call) and mapped.args:  # `p = pmap(partial(step, n))` is about a step
            maker = last_name(mapped.func)
            made = MADE.sub("", f"_{MAKES.sub('', maker)}").strip("_") if MAKES.match(maker) else ""
            stem = made or last_name(mapped.args[0]) or stem
        other = f"{stem}_per_device" if stem.endswith("fn") else f"{stem}_fn"
        is_python = hasattr(builtins, stem) or keyword.iskeyword(stem)
        return self.name(plan, *([] if is_own or is_python else [stem]), other, *(f"{other}_{i}" for i in NUMBERS))

    def known(self, plan: MapPlan, place: ast.stmt, name: str, says: str) -> str:
        """The name under which a statement further up in the same block says the same already; else `name`."""
        axis = self.parts.axis(plan)
        key = f"{says} {ast.dump(axis) if isinstance(axis, ast.expr) else axis}"
        beside = self.module.table.block_of(place)
        every = self._known.setdefault(key, [])
        known = next((one for one, at in every if at in beside and at.lineno <= place.lineno), name)
        every.append((known, place))
        return known

    def mesh(self, plan: MapPlan) -> MapPlan:
        """A map whose mesh has its name, by a statement above its own."""
        place, name = self.places.above(plan), self.name(plan, "mesh")
        assert place is not None
        made = self.parts.mesh(replace(plan, mesh=""), "")
        known = self.known(plan, place, name, "mesh") if not plan.has_own_mesh else name
        if known == name:
            self.operations.append(Before(place, code(f"{name} = $mesh", mesh=made)))
        return replace(plan, mesh=known)

    def specs(self, plan: MapPlan, *, wrapped: bool, local: bool) -> tuple[dict[str, str], str]:
        """Names for what would stand at a site more than once, and the keywords of shard_map then."""
        specs = self.parts.specs(plan)
        texts, names = named([specs.inputs(), specs.outputs()], plan)
        names = {self.name(plan, name): text for name, text in names.items()}
        again = wrapped and self.parts.wrapper_specs(plan, "**") == ", **"
        if again or (local and ", **" in (self.parts.local(plan, "$made", "**") or "")):
            stem = self.name(plan, f"{self.places.stem(plan)}_specs")
            return {**names, stem: f"dict(in_specs={texts[0]}, out_specs={texts[1]})"}, f"**{stem}"
        return names, f"in_specs={texts[0]}, out_specs={texts[1]}" if names else ""

    def common(self, plan: MapPlan, place: ast.stmt) -> str:
        """What shard_map is called with a mesh and specs that several maps of a function share; empty without such."""
        said = self.parts.specs(plan)
        key = self.repeated.key(plan, (said.inputs(), said.outputs()))
        if key is None:
            return ""
        if not self.parts.shared.is_final:
            self.repeated.note(key, place)
        first = self.repeated.first(key, place)
        if first is not None and key not in self._common:
            self._common[key] = self.name(plan, "local_shard_map" if plan.own_devices else "shard_map")
            self.operations.append(Before(first, code(f"{self._common[key]} = $made", made=self.parts.partial(plan))))
        return self._common[key] if first is not None else ""

    def wrapper(self, plan: MapPlan, mapped: str | ast.expr, title: str = "") -> tuple[str, Code] | None:
        """A function beside the map around what it maps, with its name; None where per_device is to do the same."""
        style, words = style_of(self.module), Words(self.parts.names.of("jax"), self.parts.names.of("jax.numpy"))
        statement = self.module.table.statement_of(plan.site.node)
        column = statement.col_offset if statement is not None else 0
        called = self.module.table.parents.get(plan.site.node)
        now = isinstance(called, ast.Call) and called.func is plan.site.node  # what is mapped is evaluated there, too
        stable = isinstance(mapped, str) or now or self.stable.is_stable(plan, [mapped])
        plain = not self.parts.wrapper_specs(plan, "")
        above = "" if stable or plain else self._bound(plan, mapped)
        room = style.width - column - len(style.indent)
        values = mapped_values(plan.site, self.stable.resolver) if not title else ()  # else of any function
        resolver = self.stable.resolver
        around = Around.of(values, resolver, given_arrays(plan.site, resolver) if not title else frozenset())
        results = names_of_results(plan.site, around.value, len(plan.outputs), resolver) if not title else ()
        known = Known(around, results)
        made = function_around(plan, above or mapped, words, room, known) if stable or above else None
        if not self.parts.shared.wraps_beside(plan.site.node, plain=plain, can=made is not None) or made is None:
            return None
        name = title or self.name(plan, f"{self.places.stem(plan)}_per_device")
        text, parts = made
        if above:
            text, parts = f"{above} = $bound\n\n{text}", {**parts, "bound": mapped}
        return name, code(text, name=name, **parts)

    def _bound(self, plan: MapPlan, mapped: str | ast.expr) -> str:
        """A name for what is mapped, which is evaluated once, above its statement; empty where it cannot be so."""
        place = self.places.above(plan)
        if isinstance(mapped, str | ast.Lambda) or place is None or not self.places.is_value(plan, place):
            return ""
        return self.bound(plan)
