"""Where a map stands: what can be written above it, and whether importing its file comes by."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jaxmigrate.migrate.backends import Backends
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode, Scope
from jaxmigrate.program.syntax import is_main_guard, last_name
from jaxmigrate.sources.notebooks.magics import MARK

Named = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, eq=False)
class MapPlaces:
    """The places of the maps of one file.

    `run_at_import` are the outermost functions that importing some file calls, in which no backend may start.
    """

    module: Module
    run_at_import: frozenset[str]
    backends: Backends

    def above(self, plan: MapPlan) -> ast.stmt | None:
        """The statement of a site, where others can stand right above it and say the same as they would there."""
        table, node = self.module.table, plan.site.node
        statement = table.statement_of(node)
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr) or self.is_magic(statement):
            return None
        above = table.parents.get(statement)
        if getattr(above, "lineno", 0) == statement.lineno or isinstance(above, ast.ClassDef):
            return None
        beside: list[ast.stmt] = []
        for name in ("body", "orelse", "finalbody"):
            block = getattr(above, name, None)
            beside = block if isinstance(block, list) and statement in block else beside
        if any(s is not statement and s.lineno <= statement.lineno <= (s.end_lineno or 0) for s in beside):
            return None
        parent = table.parents.get(node)
        while parent is not statement and parent is not None:
            if isinstance(parent, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                return None
            parent = table.parents.get(parent)
        return statement

    def is_value(self, plan: MapPlan, statement: ast.stmt) -> bool:
        """Whether a statement evaluates a map before all else that it does."""
        value = getattr(statement, "value", None)
        return value is plan.site.node or (isinstance(value, ast.Call) and value.func is plan.site.node)

    def stem(self, plan: MapPlan) -> str:
        """What a map is about: the name that it gets, or the one of the mapped function where it has none itself."""
        statement = self.module.table.statement_of(plan.site.node)
        above = self.module.table.parents.get(plan.site.node)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        named = last_name(target) if target is not None else ""
        is_called = isinstance(above, ast.Call) and above.func is plan.site.node
        found = "" if is_called else named
        mapped = plan.site.mapped.expression if plan.site.mapped is not None else None
        while isinstance(mapped, ast.Call):  # of a partial or a vmap, the function
            mapped = mapped.args[0] if mapped.args else None
        if isinstance(mapped, ast.Lambda) and isinstance(mapped.body, ast.Call) and is_called:
            mapped = mapped.body.func  # as it reads
        decorated = self.module.table.parents.get(plan.site.node)
        found = found or (decorated.name if isinstance(decorated, Named) else "")
        found = found or (last_name(mapped) if mapped is not None else "") or named
        return re.sub(r"^_*(p_|pmap_|pmapped_|parallel_)?|_?(pmap|pmapped)?$", "", found) or "map"

    def is_named(self, statement: ast.Assign, plan: MapPlan) -> bool:
        """Whether a statement only names a map, by a name of nothing else: a function of it can take its place."""
        return self.can_be_def(statement, plan) and self._is_bound_once(statement)

    def can_be_def(self, statement: ast.Assign, plan: MapPlan) -> bool:
        """Whether a `def` in the place of a statement can map what it maps, by its name: not in `step = pmap(step)`."""
        mapped = plan.site.mapped.expression if plan.site.mapped is not None else None
        target = statement.targets[0]
        read = {one.id for one in names_in([mapped])} if mapped is not None else set()
        return self.is_def(statement, plan) and isinstance(target, ast.Name) and target.id not in read

    def mapped_anew(self, statement: ast.Assign, plan: MapPlan) -> ast.FunctionDef | None:
        """The function without decorators that `step = pmap(step)` maps, where nothing reads its name before.

        Both stand at the top of the file, or of one branch, and nothing else binds the name.
        """
        mapped = plan.site.mapped.expression if plan.site.mapped is not None else None
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name) or not isinstance(mapped, ast.Name):
            return None
        table, name = self.module.table, target.id
        block = table.block_of(statement)
        made = [one for one in block if isinstance(one, ast.FunctionDef) and one.name == name]
        scope = table.scope_of[target]
        holder = scope.lookup(name) or scope
        if mapped.id != name or len(made) != 1 or scope.kind != "module" or len(holder.bindings.get(name, ())) != 2:
            return None
        function, known = made[0], {target, mapped}
        if function.decorator_list or self.is_magic(statement) or statement.value is not plan.site.node:
            return None
        read = [n for n in self.module.nodes if isinstance(n, ast.Name) and n.id == name and n not in known]
        early = any(function.lineno <= n.lineno <= (statement.end_lineno or statement.lineno) for n in read)
        later = set(names_in([plan.axis])) if isinstance(plan.axis, ast.expr) else set()  # read at each call
        options = [one for one in names_in([statement.value]) if one not in known | later]
        known_above = all(
            getattr(one.node, "lineno", 0) < function.lineno
            for option in options
            for one in holder.bindings.get(option.id, ())
        )
        return None if early or not known_above or function.lineno > statement.lineno else function

    def _is_bound_once(self, statement: ast.Assign) -> bool:
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        scope = self.module.table.scope_of[target]
        holder = scope.lookup(target.id) or scope
        return len(holder.bindings.get(target.id, ())) == 1

    def is_def(self, statement: ast.Assign, plan: MapPlan) -> bool:
        """Whether a statement only names a map, so that a `def` of that name does the same there."""
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name) or statement.value is not plan.site.node:
            return False
        scope = self.module.table.scope_of[target]
        alone = scope.kind != "module" or self._is_bound_once(statement)  # a script makes one map after another
        return alone and scope.kind != "class" and target.id not in scope.outer_names and not self.is_magic(statement)

    def is_last(self, statement: ast.Assign, plan: MapPlan) -> bool:
        """Whether a statement of the file's top gives a map a name that only functions and the like had above."""
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name) or statement.value is not plan.site.node:
            return False
        table = self.module.table
        scope = table.scope_of[target]
        if scope.kind != "module" or statement not in self.module.tree.body or self.is_magic(statement):
            return False
        others = [one for one in scope.bindings.get(target.id, ()) if one.node is not statement]
        every = [one.outer_names for one in table.own_scope.values()]
        above = all(getattr(one.node, "lineno", statement.lineno) < statement.lineno for one in others)
        return above and not any(target.id in names for names in every) and not self._maps_others(target.id, plan)

    def _maps_others(self, name: str, plan: MapPlan) -> bool:
        """Whether the file gives a name to other maps, too: a script that makes one after another."""
        made = (n.value for n in self.module.nodes if isinstance(n, ast.Assign) and name in map(last_name, n.targets))
        return any(
            isinstance(one, ast.Call) and one is not plan.site.node and "map" in last_name(one.func) for one in made
        )

    def name_alone(self, plan: MapPlan) -> tuple[str, ast.stmt] | None:
        """The name that a statement gives a map and nothing else in the file has, which a function above can take."""
        table, statement = self.module.table, self.module.table.statement_of(plan.site.node)
        if not isinstance(statement, ast.Assign) or not self.is_named(statement, plan):
            return None
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        scope, name = table.scope_of[target], target.id
        if scope.kind != "function" or len(table.block_of(statement)) < 2 or self.is_magic(statement):
            return None
        if any(holder is not scope for holder in self._holders(name)):
            return None
        return name, statement

    def _holders(self, name: str) -> Iterator[Scope | None]:
        """The scope of each place in the file that has a name; None where it is no variable."""
        table = self.module.table
        for node in self.module.nodes:
            match node:
                case ast.Name(id=found) if found == name:
                    yield table.scope_of[node].lookup(name) if node in table.scope_of else None
                case ast.FunctionDef(name=found) | ast.ClassDef(name=found) | ast.arg(arg=found) if found == name:
                    yield None
                case ast.alias(name=found, asname=other) if name in (other, found):
                    yield None
                case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                    yield None

    def is_magic(self, statement: ast.stmt) -> bool:
        """Whether a statement stands behind a magic of a notebook, on one line with it."""
        return bool(self.module.cells) and MARK in self.module.lines[(statement.end_lineno or statement.lineno) - 1]

    def is_deferred(self, plan: MapPlan) -> bool:
        """Whether a map is made where importing a file may come by, and no backend runs yet: no mesh can be made."""
        if self.backends.run_by(plan.site.node, self.module):
            return False
        holder = self.holder(plan.site.node)
        if holder is None:
            called = self.module.table.parents.get(plan.site.node)
            at_once = isinstance(called, ast.Call) and called.func is plan.site.node
            return not (at_once or runs_as_script(plan.site.node, self.module))
        if isinstance(holder, ast.Lambda):
            return True
        owner = self._class_of(holder)
        named = holder.name in self.run_at_import and not (owner and holder.name == "__init__")
        return named or (bool(owner) and owner in self.run_at_import)

    def holder(self, node: ast.AST | None) -> FunctionNode | None:
        """The outermost function that code runs in; a lambda where that is the innermost."""
        holder: FunctionNode | None = None
        while node is not None:
            parent = self.module.table.parents.get(node)
            if (isinstance(parent, Named) and node in parent.body) or (
                isinstance(parent, ast.Lambda) and holder is None and node is parent.body
            ):
                holder = parent
            node = parent
        return holder

    def _class_of(self, function: Named) -> str:
        parent = self.module.table.parents.get(function)
        return parent.name if isinstance(parent, ast.ClassDef) else ""


def runs_as_script(node: ast.AST, module: Module) -> bool:
    """Whether code runs only where its file is run: under `if __name__ == "__main__"`, or in a notebook."""
    if module.cells:
        return True
    parent = module.table.parents.get(node)
    while parent is not None:
        if is_main_guard(parent):
            return True
        parent = module.table.parents.get(parent)
    return False
