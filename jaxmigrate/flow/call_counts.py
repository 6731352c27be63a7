"""Calls of what jit makes with `in_shardings`, with more or fewer arguments than these are for, or with keywords."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.counts import entries, taken
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jits import Jitted, jitted
from jaxmigrate.program.functions import is_static
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Class
from jaxmigrate.terminal import plural


def miscounted(facts: Facts) -> Iterator[tuple[Module, ast.Call, str]]:
    """Each such call in the module of the jit, and what is wrong with it; the jit itself fits its function."""
    for module in facts.modules:
        if module.is_test or "in_shardings" not in module.text:
            continue
        names = {*_names(module)}
        for call in module.table.calls:
            if (
                last_name(call.func) not in names
                or any(isinstance(one, ast.Starred) for one in call.args)
                or any(k.arg is None for k in call.keywords)
            ):
                continue
            values = facts.resolver.values(call.func, module)
            made = values[0] if len(values) == 1 else None
            found = [*jitted(made, facts.resolver)] if isinstance(made, Application) else []
            told = _told(call, module, found[0], facts) if len(found) == 1 else None
            if told is not None:
                yield module, call, told


def _names(module: Module) -> Iterator[str]:
    """What goes by the names of what a call with `in_shardings` makes; the empty one where it is called in place."""
    for node in module.table.calls:
        if any(k.arg == "in_shardings" for k in node.keywords):
            yield ""
            above: ast.AST | None = node
            while above is not None and not isinstance(above, ast.stmt):
                above = module.table.parents.get(above)
            if isinstance(above, ast.FunctionDef):
                yield above.name
            elif isinstance(above, ast.Assign | ast.AnnAssign):
                yield from (
                    last_name(one) for one in (above.targets if isinstance(above, ast.Assign) else [above.target])
                )


def _told(call: ast.Call, module: Module, found: Jitted, facts: Facts) -> str | None:
    given, counts, dynamic = found.keyword("in_shardings"), taken(found.value), found.parameters(facts.resolver)
    if given is None or given.expression is None or counts is None or dynamic is None:
        return None
    count = entries(given.expression, given.module, facts.resolver)
    static = found.static(facts.resolver)
    if count is None or static is None or not counts[0] - static <= count <= counts[1] - static:
        return None  # which is told of the jit
    names = found.function.passed_names() if found.value is found.function else dynamic
    number = len(call.args) + _is_bound(call, module, found, facts)
    passed = number - sum(name not in dynamic for name in names[:number])
    if call.keywords:
        return "jit takes no keyword arguments beside in_shardings: pass them by position"
    if passed == count:
        return None
    return f"in_shardings is for {plural(count, 'argument')}, but {passed} {'are' if passed != 1 else 'is'} given"


def _is_bound(call: ast.Call, module: Module, found: Jitted, facts: Facts) -> bool:
    """Whether a call is of a method that its decorator compiles, and passes its object first."""
    function, home = found.function, found.function.module
    scope = home.table.own_scope[function.node]
    if function.receiver is not None or scope.parent is None or scope.parent.kind != "class":
        return False
    if not isinstance(function.node, ast.FunctionDef) or is_static(function.node):
        return False
    return isinstance(call.func, ast.Attribute) and not isinstance(facts.resolver.value(call.func.value, module), Class)
