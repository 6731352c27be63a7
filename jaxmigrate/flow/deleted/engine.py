"""Puts the run of the host's code together, and runs a project for what its calls delete."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from jaxmigrate.flow.deleted.calls import called
from jaxmigrate.flow.deleted.expressions import EXPRESSIONS
from jaxmigrate.flow.deleted.run import Given, Run, Use
from jaxmigrate.flow.deleted.statements import STATEMENTS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import last_name
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
    wanted = [*_leading_to(donated, modules)]
    for module in dict.fromkeys(module for _, module in wanted):
        run.module(module)
    for node, module in wanted:
        if isinstance(node, ast.FunctionDef) and node not in run.ran and not is_traced(node.body[0], module):
            begun = run.heap.mark()
            run.enter(Function(module, node), {}, 0)
            run.heap.undo(begun)
    return run.uses


def _leading_to(
    donated: Collection[ast.Call], modules: Sequence[Module]
) -> Iterator[tuple[FunctionNode | ast.Module, Module]]:
    """The functions, and modules, that hold calls that donate, or calls of such functions by their names."""
    homes = {module: [*module.table.calls] for module in modules}
    around = {home.table.function_of(call) for home, calls in homes.items() for call in calls if call in donated}
    names = {node.name for node in around if isinstance(node, ast.FunctionDef)} - {"__init__"}
    for module, calls in homes.items():
        told: set[ast.AST] = set()
        for call in calls:
            if call in donated or last_name(call.func) in names:
                node = module.table.function_of(call) or module.tree
                if node not in told:
                    told.add(node)
                    yield node, module
