"""Runs the bodies of modules and functions on abstract values, again and again, until nothing changes any more.

Local names are followed in the order of the statements, so that `state = replicate(state)` gives a new value; names
that some other function reads, attributes, parameters and results are one value each for the whole program. Here, and
nowhere below, the transfer functions of all kinds of nodes come together.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import (
    assignments,
    attributes,
    calls,
    expressions,
    frames,
    leading_names,
    monkeypatching,
    observing,
    outcomes,
    statements,
    unknown_callers,
)
from jaxmigrate.flow.layout.interpreter import Interpreter, Transfers
from jaxmigrate.flow.layout.model import Assumed, Context, Frame
from jaxmigrate.flow.layout.values import NONE
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.values import Function

MOST_PASSES = 1000
MOST_RUNS = 60_000  # bodies interpreted, some minutes' worth
TRANSFERS = Transfers(
    {**expressions.TRANSFERS, ast.Call: calls.call},
    expressions.other,
    calls.call_value,
    calls.call_function,
    assignments.assign,
    attributes.of_object,
)


def follow(it: Interpreter) -> bool:
    """Interprets everything until nothing changes; says whether that came to an end."""
    for _ in range(MOST_PASSES):
        if it.bodies.runs > MOST_RUNS:
            return False
        it.changed = False
        for module in list(it.modules):
            _again(it, module)
        for function in list(it.bodies.functions.values()):
            for context in list(it.bodies.contexts.get(function.node, (None,))):
                _again(it, function, context)
        if not it.changed:
            names = _join_reachable(it)
            if not it.changed:
                unknown_callers.start_uncalled(it, names)
            if not it.changed:
                unknown_callers.sweep(it)
        if not it.changed and it.final:
            return True
        if not it.changed:
            it.final = True
            it.bodies.units.clear()
    return False


def _join_reachable(it: Interpreter) -> set[str]:
    """Takes in modules that can reach what is stacked, by names that it gives, or change what it depends on."""
    names, holders = leading_names.leading_names(it)
    joined = {m.path for m in it.modules}
    for module in it.reachable.naming(joined, holders):
        it.join_module(module)
    for module in it.reachable.replacing(joined):
        monkeypatching.note_in(it, module)
    monkeypatching.note_hidden(it)
    unknown_callers.use_from_unread(it)
    return names


def _again(it: Interpreter, unit: Module | Function, context: Context | None = None) -> None:
    """Runs a module or a function unless nothing that it read has changed since."""
    node = unit.tree if isinstance(unit, Module) else unit.node
    run, known = it.bodies.units.setdefault(node, set()), (node, context)
    if context in run and known not in it.bodies.stale:
        return
    it.bodies.runs += 1
    run.add(context)
    it.bodies.stale.discard(known)
    it.reads, it.running = set(), known
    for assumed in outcomes.runs(it, unit, context):
        if isinstance(unit, Module):
            _module_body(it, unit, assumed)
        else:
            _function_body(it, unit, context, assumed)
    for key in it.reads:
        it.bodies.readers.setdefault(key, set()).add(known)
    it.running = None


# Bodies


def _module_body(it: Interpreter, module: Module, assumed: Assumed) -> None:
    """Runs a module's own statements."""
    frame = Frame(module, module.table.root, None, {}, None, assumed)
    statements.block(it, module.tree.body, frame)


def _function_body(it: Interpreter, function: Function, context: Context | None, assumed: Assumed) -> None:
    """Runs a function with what its callers give it, or one call of them."""
    node, module = function.node, function.module
    scope = module.table.own_scope[node]
    told = it.bodies.told.get((node, context), {}) if context is not None else {}
    frame = Frame(module, scope, function, {}, context, assumed, told)
    parameters = list(all_parameters(node.args))
    for index, parameter in enumerate(parameters):
        value = it.load(("parameter", node, parameter.arg, context))
        if index == 0 and (receiver := it.receiver(function)) is not None:
            value = receiver
        value = observing.bound(it, value, parameter, frame)
        frames.assign_name(it, parameter.arg, value, parameter, frame)
    if isinstance(node, ast.Lambda):
        it.returned(node, it.evaluate(node.body, frame), node.body, frame)
        return
    statements.block(it, node.body, frame)
    if frame.env is not None:
        it.returned(node, NONE, node, frame)
