"""The operations that turn mapped sites into `jax.jit(jax.shard_map(...))`.

A decorated function and one of the module's top are mapped within a function of theirs, so that importing the file
starts no backend; what is mapped where the program runs is mapped in place.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from jaxmigrate.migrate.decorated_maps import DecoratedMaps
from jaxmigrate.migrate.direct_maps import DirectMaps
from jaxmigrate.migrate.hoisted_maps import HoistedMaps
from jaxmigrate.migrate.map_parts import needs_names
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.migrate.sharing import NAMES as SHARED_NAMES
from jaxmigrate.program.operations import DropStatement, NameArgument, Replace, code
from jaxmigrate.program.sites import is_decorator, listed


@dataclass(slots=True, eq=False)
class MapWriter(DecoratedMaps, HoistedMaps, DirectMaps):
    """Writes the maps of one file, each in the form that its place asks for."""

    def write(self, plan: MapPlan) -> bool:
        """Adds the operations of a site; False, and nothing is added, where it has no such form."""
        node, seen = plan.site.node, self._with_names_apart(plan)
        kept, kept_elsewhere = len(self.operations), len(self.elsewhere)
        if seen is not None and plan.moves and not self._can_lay_out(plan):
            seen = self.parts.brought(seen)
        elif plan.lays_out and not self._can_lay_out(plan):
            seen = None
        if seen is None:
            written = False
        elif is_decorator(node, self.module):
            written = self._enclose(seen)
        else:
            written = self._in_place(seen)
        self.operations += [Replace(one, code(self.parts.said(plan))) for one in plan.said_axes if written]
        if not written:
            del self.operations[kept:]
            del self.elsewhere[kept_elsewhere:]
        return written

    def _can_lay_out(self, plan: MapPlan) -> bool:
        """Whether a map that brings arguments to all devices can be compiled where it stands, once."""
        node = plan.site.node
        mapped = plan.site.mapped.expression if plan.site.mapped is not None else None
        if is_decorator(node, self.module) or mapped is None or plan.has_parts or any(a.fields for a in plan.inputs):
            return False
        if plan.whole_in and not plan.moves:
            return False
        donated = listed(plan.site, "donate_argnums", self.resolver)
        every = plan.inputs * (1 + max(donated or (0,))) if plan.whole_in else plan.inputs
        if donated is None or not all(i < len(every) and every[i].split for i in donated):
            return False  # whether what was moved is deleted, too, is another question
        again = self.again.repeats(node, mapped) or self.again.place(plan, mapped) is not None
        if again or self.parts.asks(plan):
            return False
        return not self.places.is_deferred(plan) or (not plan.moves and self._can_put(plan, mapped))

    def _can_put(self, plan: MapPlan, mapped: ast.expr) -> bool:
        """Whether a function around a map that is made at import can bring its arguments to all devices."""
        statement = self.module.table.statement_of(plan.site.node)
        named = isinstance(statement, ast.Assign) and self.places.is_named(statement, plan)
        known = plan.names is not None and not self.parts.lowered and not any(a.static for a in plan.inputs)
        return named and known and self.stable.is_stable(plan, [mapped])

    def _with_names_apart(self, plan: MapPlan) -> MapPlan | None:
        """The map without names of parameters that hide what the function around it needs; None where it needs both.

        Arguments of a function from out of sight are called what its calls call them.
        """
        is_said = len(plan.said) == len(plan.inputs) and not (plan.whole_in or plan.any_keywords or plan.static)
        if plan.names is None and is_said and not plan.lays_out and not plan.moves:
            plan = replace(plan, names=plan.said)
        if plan.names is None:
            return plan
        mapped = plan.site.mapped.expression if plan.site.mapped is not None else None
        said = [one for one in (mapped, plan.devices, plan.backend, plan.axis) if isinstance(one, ast.expr)]
        within = {inner for one in said for inner in ast.walk(one)}
        needed = {one.id for one in names_in(said) if self._holder(one) not in within}
        needed |= {"jax", *SHARED_NAMES.values()}
        needed |= {self.parts.names.of(one) for one in ("jax", "jax.sharding.PartitionSpec")}
        if needed.isdisjoint(plan.names):
            return plan
        apart = replace(plan, names=None)
        return None if needs_names(apart) or plan.by_name else apart

    def _holder(self, name: ast.Name) -> ast.AST | None:
        """What binds a name of this file: the file, a function, a lambda."""
        scope = self.module.table.scope_of.get(name)
        holder = scope.lookup(name.id) if scope is not None else None
        return holder.node if holder is not None else None

    def _in_place(self, plan: MapPlan) -> bool:
        site = plan.site
        mapped = site.mapped.expression if site.mapped is not None else None
        if mapped is None or site.mapped is None or site.mapped.module is not self.module:
            return False
        plan = self._by_place(self._with_mesh(plan))
        if not self.parts.has_local(plan):
            return False
        own = plan.choice is None and (plan.by_name or plan.any_keywords)
        body = self._body(plan) if not own else None
        if body is None and any(a.is_open for a in plan.everything):
            return False
        if not self._placed(plan, mapped, wrapped=body is None):
            return False
        self.operations += body or []
        return True

    def _by_place(self, plan: MapPlan) -> MapPlan:
        """A map that is called where it is made, and nowhere else, is given by place what it was given by keyword."""
        call = self.module.table.parents.get(plan.site.node)
        if not (isinstance(call, ast.Call) and call.func is plan.site.node and plan.given_by_keyword):
            return plan
        given, names = tuple(one.arg for one in call.keywords), plan.names or ()
        if plan.donated is not None or plan.static or plan.by_keyword or given != names[-len(given) :]:
            return plan
        self.operations += [NameArgument(call, one, "") for one in call.keywords]
        return replace(plan, given_by_keyword=False)

    def _placed(self, plan: MapPlan, mapped: ast.expr, *, wrapped: bool) -> bool:
        """Writes a map that is no decorator in the form that its place asks for."""
        if self._hoist(plan, mapped, wrapped=wrapped) or self._remembered(plan, mapped, wrapped=wrapped):
            return True
        if plan.choice is None and self.again.repeats(plan.site.node, mapped):
            return False  # the map that chooses its mesh keeps those that it made
        if plan.mesh:
            plan = self.above.mesh(plan)
        if not (self.places.is_deferred(plan) or self.parts.asks(plan)):
            self._direct(plan, mapped, wrapped=wrapped)
            return True
        statement = self.module.table.statement_of(plan.site.node)
        fields = any(a.is_open for a in plan.inputs)
        if isinstance(statement, ast.Assign) and self._renewed(plan, statement, wrapped=wrapped):
            return True
        if self.stable.is_stable(plan, [mapped]):
            if isinstance(statement, ast.Assign) and self.places.can_be_def(statement, plan):
                return self._define(plan, mapped, statement, wrapped=wrapped)
            if fields:
                return self._named_above(plan, mapped, wrapped=wrapped)
            return self._lambda(plan, mapped, wrapped=wrapped)
        if self.parts.asks(plan):  # what is mapped is taken as it is now
            if self._bound(plan, mapped, statement, wrapped=wrapped):
                return True
            return (
                not fields and self.stable.is_stable(plan, []) and self._lambda(plan, mapped, wrapped=wrapped, now=True)
            )
        if self.places.holder(plan.site.node) is None:
            return self._bound(plan, mapped, statement, wrapped=wrapped)
        self._direct(plan, mapped, wrapped=wrapped)  # a function that importing runs has what it maps only then
        return True

    def _renewed(self, plan: MapPlan, statement: ast.Assign, *, wrapped: bool) -> bool:
        """`step = pmap(step)` under `def step`: as a decorator of it; `wrapped`: its body is not changed yet."""
        function = self.places.mapped_anew(statement, plan)
        if function is None or not self.stable.is_stable(plan, []):
            return False
        if not self._around(plan, function, [], changes=wrapped):
            return False
        self.operations.append(DropStatement(statement))
        return True

    def _with_mesh(self, plan: MapPlan) -> MapPlan:
        """A map whose mesh has a name above its statement: of given devices, in programs of several processes."""
        place = self.places.above(plan)
        above = place is not None and self.places.is_value(plan, place) and not self.places.is_deferred(plan)
        given = plan.has_own_mesh and self.parts.processes and not plan.own_devices
        return replace(plan, mesh="mesh") if given and above else plan
