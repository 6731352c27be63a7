"""What the operations on one map consist of, wherever it stands."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.migrate.bodies import Body, Words
from jaxmigrate.migrate.body_functions import body_function, made_function
from jaxmigrate.migrate.compiled import compiling
from jaxmigrate.migrate.keys import key_fields, key_parameters
from jaxmigrate.migrate.leading_axis import keeps_leading_axis
from jaxmigrate.migrate.map_parts import MapParts
from jaxmigrate.migrate.map_places import MapPlaces
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.migrate.names_above import NamesAbove
from jaxmigrate.migrate.runs_again import RunsAgain
from jaxmigrate.migrate.specs import LONG
from jaxmigrate.migrate.stable_names import StableNames
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Before, Code, Marked, Operation, Replace, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Function

Named = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, eq=False)
class MapOperations:
    """Makes operations on the maps of one file.

    `places` says where they stand, `stable` which names keep what they stand for, `again` which maps are made over and
    over, `above` names what several say.
    """

    module: Module
    resolver: Resolver
    parts: MapParts
    places: MapPlaces
    stable: StableNames
    again: RunsAgain
    above: NamesAbove
    ids: Mapping[ast.expr, str]
    files: Mapping[Module, FileNames]
    reachable: ReachableModules
    operations: list[Operation]
    elsewhere: list[tuple[Module, Operation]] = field(default_factory=list)  # in bodies that other files have
    makers: dict[Hashable, list[tuple[str, ast.stmt]]] = field(default_factory=dict)  # what maps what several sites do
    methods: set[str] = field(default_factory=set)  # what mapped methods are called from now on

    def _body(self, plan: MapPlan, own: ast.FunctionDef | None = None) -> list[Operation] | None:
        """What changes in the mapped function itself, None where it cannot be changed: it may be for the map alone."""
        if not plan.drops or keeps_leading_axis(plan, self.resolver):
            return []
        squeezes = plan.choice.squeezes if plan.choice is not None else ()
        function = Function(self.module, own) if own else body_function(plan, self.resolver, self.reachable)
        if function is None and (function := made_function(plan, self.resolver, self.reachable)) is not None:
            plan = replace(plan, names=None)  # which calls have for what they pass
        if function is None or function.module not in self.files:
            return None
        names = self.files[function.module]
        if not names.can_import:
            return None
        words = Words(names.of("jax"), names.of("jax.numpy"))
        keys = key_parameters(function, self.resolver)
        arrays = {s.name for s in squeezes}
        found = Body(plan, function, words, arrays, keys, key_fields(self.resolver), self.resolver).operations()
        if found is None or function.module is self.module:
            return found
        self.elsewhere += [(function.module, one) for one in found]
        return []

    def _specs_above(self, plan: MapPlan, function: Named) -> str:
        """The keywords of shard_map with the names of long specs that are said above a decorated function, or empty."""
        is_method = self.module.table.scope_of[function].kind == "class"
        if is_method or any(a.fields for a in plan.everything) or len(self.parts.specs(plan).inputs()) <= LONG:
            return ""
        said, specs = self.above.specs(plan, wrapped=False, local=True)
        if said:
            lines = "\n".join(f"{name} = {text}" for name, text in said.items())
            self.operations.append(Before(function, code(lines, axis=self.parts.axis(plan))))
        return specs

    def _put(self, plan: MapPlan, made: Code, local: str | None) -> None:
        if local:
            made = code(local, made=made, axis=self.parts.axis(plan))
        made = code("$marked", marked=Marked(self.ids[plan.site.node], made, mapped=True))
        self.operations.append(Replace(self._compiling(plan) or plan.site.node, made))

    def _compiling(self, plan: MapPlan) -> ast.expr | None:
        """The jit around a map that goes: there, a donation counts for nothing, and processes map apart."""
        own = plan.donated is None and not plan.static and (plan.own_devices or not self.parts.processes)
        return compiling(plan.site, self.resolver) if own else None

    def _is_in_function(self, statement: ast.stmt) -> bool:
        """Whether a statement is one of a function, where a function above it is seen by nobody else."""
        own = self.module.table.scope_of.get(statement)
        return own is not None and own.kind == "function"
