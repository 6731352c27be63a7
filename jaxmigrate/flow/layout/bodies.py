"""The functions that maps run, where a parameter can drop the device axis of a stacked array by itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxmigrate.program.resolve import own_statements
from jaxmigrate.program.sites import mapped_values
from jaxmigrate.program.values import Function, Partial

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.interpreter import Interpreter


def only_function(it: Interpreter, site: ast.expr) -> Function | None:
    """The def that a site maps, if no other map and no call of the program runs it."""
    values = mapped_values(it.sites[site], it.resolver)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Partial) and all(a.keyword not in (None, "*", "**") for a in value.arguments):
        value = value.callee
    if not isinstance(value, Function) or not isinstance(value.node, ast.FunctionDef):
        return None
    function, node = value, value.node
    if not it.editable(function.module) or node.body[0].lineno == node.lineno or node in it.functions:
        return None
    return None if _is_used_elsewhere(it, function, site) else function


def positional(function: Function) -> list[str]:
    """The names of a function's positional parameters, without the object that it is called on."""
    names = [p.arg for p in (*function.node.args.posonlyargs, *function.node.args.args)]
    return names[1 if function.receiver is not None else 0 :]


def _is_used_elsewhere(it: Interpreter, function: Function, site: ast.expr) -> bool:
    """Whether something beside a site names a function."""
    assert isinstance(function.node, ast.FunctionDef)
    inside = set(ast.walk(site))
    for module in it.modules:
        for node in module.table.references:
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name != function.node.name or node in inside:
                continue
            for value in it.resolver.values(node, module):
                found = value.callee if isinstance(value, Partial) else value
                if isinstance(found, Function) and found.node is function.node:
                    return True
    decorators = [d for d in function.node.decorator_list if d is not site]
    return bool(decorators) or any(isinstance(s, ast.Global | ast.Nonlocal) for s in own_statements(function.node))
