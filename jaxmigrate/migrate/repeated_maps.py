"""Maps of one function that differ in nothing but what they map, so that mesh and specs can be said once for all."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode

Key = tuple[object, ...]


@dataclass(slots=True, eq=False)
class RepeatedMaps:
    """The maps of one file that are made in place, by what is said of them; a first writing of the file notes them."""

    module: Module
    statements: dict[Key, list[ast.stmt]] = field(default_factory=dict)

    def key(self, plan: MapPlan, specs: Sequence[str]) -> Key | None:
        """What maps have in common that share a mesh and specs; None where these may differ from map to map."""
        if plan.mesh or plan.has_own_mesh or plan.by_rows or not plan.axis_name:
            return None
        return (self._function(plan.site.node), plan.axis_name, plan.own_devices, *specs)

    def note(self, key: Key, statement: ast.stmt) -> None:
        """Says that a statement makes a map."""
        self.statements.setdefault(key, []).append(statement)

    def first(self, key: Key, statement: ast.stmt) -> ast.stmt | None:
        """The statement above which all maps of a key find what they share; None where a statement has it alone."""
        every = self.statements.get(key, [])
        start = min(every, key=lambda s: s.lineno, default=None)
        if start is None:
            return None
        block = self.module.table.block_of(start)
        within = [s for s in every if self._is_in(s, block)]
        few = 2 if style_of(self.module).fills else 1  # where a map takes few lines itself
        return start if len(within) > few and statement in within else None

    def _is_in(self, statement: ast.AST | None, block: Sequence[ast.stmt]) -> bool:
        while statement is not None and statement not in block:
            statement = self.module.table.parents.get(statement)
        return statement is not None

    def _function(self, node: ast.AST) -> ast.AST | None:
        """The innermost function that code runs in; a decorator runs in the one around the function that it is of."""
        parent = self.module.table.parents.get(node)
        while parent is not None:
            if isinstance(parent, FunctionNode) and node not in getattr(parent, "decorator_list", ()):
                return parent
            node, parent = parent, self.module.table.parents.get(parent)
        return None
