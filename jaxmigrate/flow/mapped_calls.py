"""Calls of functions that a shard_map or a pmap has made, with what is given for each spec."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxmigrate.program.collectives import SHARD_MAPS, SPECS, argument
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import Application, Argument, External, Value

JITS = named("jit")


class ShardCall(NamedTuple):
    """A call of what a shard_map has made; `jitted` says whether a jit stands between."""

    module: Module
    call: ast.Call
    made: Application
    jitted: bool

    def specs(self) -> Iterator[tuple[ast.expr, Argument]]:
        """Each argument of the call with the expression of its spec, where specs are written one by one."""
        given = argument(self.made.arguments, 2, "in_specs")
        expression = given.expression if given is not None else None
        if given is None or expression is None or any(isinstance(one, ast.Starred) for one in self.call.args):
            return
        for number, one in enumerate(self.call.args):
            if not isinstance(expression, ast.Tuple):
                yield one, Argument(None, expression, given.module)
            elif number < len(expression.elts):
                yield one, Argument(None, expression.elts[number], given.module)


def shard_calls(modules: Iterable[Module], resolver: Resolver) -> Iterator[ShardCall]:
    """Every call in some modules of what a shard_map in sight has made."""
    for module in modules:
        if "shard_map" not in module.text:
            continue
        for call in module.table.calls:
            if not may_come_from(call.func, module, resolver.project, "shard_map"):
                continue
            # `f = shard_map(g, ...) if mesh.size > 1 else g` is one shard_map as well
            ways = [shard_mapped(value, resolver) for value in resolver.values(call.func, module)]
            found = [way for way in ways if way is not None]
            if len(found) == 1:
                yield ShardCall(module, call, *found[0])


def shard_mapped(value: Value, resolver: Resolver) -> tuple[Application, bool] | None:
    """The shard_map that made a function, and whether a jit stands around it."""
    jitted = False
    while isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in JITS:
        given = argument(value.arguments, 0, "fun")
        inner = resolver.argument_values(given) if given is not None else ()
        if len(inner) != 1:
            return None
        value, jitted = inner[0], True
    if isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in SHARD_MAPS:
        return value, jitted
    return None


def may_come_from(callee: ast.expr, module: Module, project: Project, word: str) -> bool:
    """Whether something called may have been made in a text that holds a word: imports are not opened to find out."""
    while isinstance(callee, ast.Attribute):
        callee = callee.value
    if not isinstance(callee, ast.Name):
        return True
    holder = module.table.scope_of[callee].lookup(callee.id)
    bindings = holder.bindings[callee.id] if holder is not None else []
    return any(_holds(binding, module, project, word) for binding in bindings)


def _holds(binding: Binding, module: Module, project: Project, word: str) -> bool:
    statement = module.table.parents.get(binding.node)
    if binding.kind not in ("import", "from"):
        return True
    paths = [project.imported_path(binding.node, module)] if isinstance(binding.node, ast.alias) else []
    if isinstance(statement, ast.ImportFrom):
        paths.append(project.find(module, statement.module or "", statement.level))
    texts = [(path, project.text(path)) for path in paths if path is not None]
    return any(text is not None and (word in text or path.name == "__init__.py") for path, text in texts)


def first_dimension(spec: Argument, resolver: Resolver) -> ast.expr | None:
    """What a spec written out says of the first dimension; None where it says nothing."""
    values = resolver.argument_values(spec)
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, Application) or not isinstance(value.callee, External) or value.callee.name not in SPECS:
        return None
    first = value.arguments[0] if value.arguments else None
    return first.expression if first is not None and first.keyword is None else None
