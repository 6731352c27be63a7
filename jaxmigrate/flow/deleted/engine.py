"""Puts the run of the host's code together, and runs a project for what its calls delete."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from jaxmigrate.flow.deleted.calls import called
from jaxmigrate.flow.deleted.expressions import EXPRESSIONS
from jaxmigrate.flow.deleted.run import Given, Run, Use
from jaxmigrate.flow.deleted.statements import STATEMENTS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Function


def uses_of_deleted(
    resolver: Resolver,
    modules: Sequence[Module],
    donated: Mapping[ast.Call, Sequence[Given]],
    is_array: Callable[[str], bool],
    is_traced: Callable[[ast.AST, Module], bool],
) -> list[Use]:
    """Where modules use what a call was donated: run from their tops, then by the functions that nothing has called."""
    run = Run(resolver, donated, is_array, {**EXPRESSIONS, ast.Call: called}, STATEMENTS)
    for module in modules:
        run.module(module)
    for module in modules:
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef) and node not in run.ran and not is_traced(node.body[0], module):
                run.enter(Function(module, node), {}, 0)
    return run.uses
