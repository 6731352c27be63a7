"""Puts the run of the host's code together, and runs a project."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from jaxmigrate.flow.host.calls import called
from jaxmigrate.flow.host.expressions import EXPRESSIONS
from jaxmigrate.flow.host.frames import Frame
from jaxmigrate.flow.host.held import Held
from jaxmigrate.flow.host.run import Run, Stepped
from jaxmigrate.flow.host.statements import STATEMENTS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, Function


def new_run(
    resolver: Resolver, stepped: Mapping[ast.Call, Stepped], makes_alone: Callable[[ast.Call, Module], bool]
) -> Run:
    """A run of which nothing has run yet."""
    return Run(resolver, stepped, makes_alone, {**EXPRESSIONS, ast.Call: called}, STATEMENTS)


def run_project(run: Run, modules: Sequence[Module], wanted: Sequence[tuple[FunctionNode, Module]]) -> None:
    """Runs the modules from their top, and then those functions that nothing in them has called."""
    for module in modules:
        frame = run.frames[module] = Frame(module, module.tree)
        run.stack.append(frame)
        run.block(module.tree.body, frame)
        run.stack.pop()
    names = {last_name(call.func) for module in modules for call in module.table.calls}
    for node, module in sorted(wanted, key=lambda one: getattr(one[0], "name", "") in names):
        if run.runs.get(node) or isinstance(node, ast.Lambda):
            continue
        given: dict[str, Held] = {}
        cls = module.table.parents.get(node)
        if isinstance(cls, ast.ClassDef) and node.args.args:
            given[node.args.args[0].arg] = run.object_of(Class(module, cls))
        run.enter(Function(module, node), given, None)
