"""Maps that are made anew at each call of a function, of something that stays the same.

`jax.pmap(f)` twice is compiled once, as long as `f` is the same object; `jax.jit(jax.shard_map(f, ...))` twice is
compiled twice. What is mapped so has to be mapped once, where it is bound.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.scopes import FunctionNode, Scope

LOOPS = ast.For | ast.While | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
DEEPEST = 4  # functions that are called in functions


@dataclass(frozen=True, slots=True, eq=False)
class RunsAgain:
    """The maps of one file that run more than once, as far as calls by the names of their functions show."""

    module: Module
    project: Project

    def place(self, plan: MapPlan, mapped: ast.expr) -> ast.stmt | None:
        """The statement above which a map can be made once; None where it is, or what it maps is new each time."""
        if not isinstance(mapped, ast.Name | ast.Attribute) or plan.devices is not None or plan.mesh:
            return None
        if plan.donated is not None and not isinstance(plan.donated, str | ast.Constant | ast.Tuple):
            return None
        table, node = self.module.table, plan.site.node
        names = list(names_in([mapped, *([plan.axis] if isinstance(plan.axis, ast.expr) else [])]))
        scopes = [table.scope_of[name].lookup(name.id) for name in names if name in table.scope_of]
        if not names or len(scopes) < len(names) or None in scopes:
            return None
        home = max((s for s in scopes if s is not None), key=_depth)
        if home.kind == "class":
            return None
        found = self._statement(node, home, again=False)
        return None if found is None or self.module.cells or _on_one_line(found, self.module) else found

    def _statement(self, node: ast.AST, home: Scope, *, again: bool) -> ast.stmt | None:
        """The statement of a scope around a node that may run more than once within it."""
        table = self.module.table
        found: ast.stmt | None = None
        below, parent = node, table.parents.get(node)
        while parent is not None and parent is not home.node:
            inside = not isinstance(parent, FunctionNode) or _runs(parent, below)
            again |= isinstance(parent, LOOPS) and below is not getattr(parent, "iter", None)
            again |= inside and isinstance(parent, FunctionNode) and self._is_called_again(parent, set(), self.module)
            if isinstance(parent, ast.stmt) and not isinstance(parent, ast.If | ast.With | ast.Try):
                found = parent
            below, parent = parent, table.parents.get(parent)
        return found if again and parent is home.node else None

    def _is_called_again(self, function: FunctionNode, seen: set[str], module: Module) -> bool:
        """Whether some code calls a function in a loop, or in a function that is called again."""
        if isinstance(function, ast.Lambda):
            return True
        if function.name in seen or len(seen) >= DEEPEST:
            return False
        seen = {*seen, function.name}
        nested = module.table.scope_of[function].kind == "function"
        for other in (module,) if nested else self.project.program:
            for node in other.table.named.get(function.name, ()):
                parent = other.table.parents.get(node)
                if not (isinstance(parent, ast.Call) and parent.func is node):
                    if nested:
                        return True  # it is handed on
                elif self._call_runs_again(parent, seen, other):
                    return True
        return False

    def _call_runs_again(self, call: ast.Call, seen: set[str], module: Module) -> bool:
        below: ast.AST = call
        parent = module.table.parents.get(call)
        while parent is not None:
            if isinstance(parent, LOOPS) and below is not getattr(parent, "iter", None):
                return True
            if isinstance(parent, FunctionNode) and _runs(parent, below):
                return self._is_called_again(parent, seen, module)
            below, parent = parent, module.table.parents.get(parent)
        return False


def _runs(function: FunctionNode, below: ast.AST) -> bool:
    """Whether a part of a function is in its body, and not a default or a decorator."""
    return below is function.body if isinstance(function, ast.Lambda) else below in function.body


def _depth(scope: Scope) -> int:
    depth, parent = 0, scope.parent
    while parent is not None:
        depth, parent = depth + 1, parent.parent
    return depth


def _on_one_line(statement: ast.stmt, module: Module) -> bool:
    """Whether a statement shares its first line with another one."""
    return any(s is not statement and s.lineno == statement.lineno for s in module.table.block_of(statement))
