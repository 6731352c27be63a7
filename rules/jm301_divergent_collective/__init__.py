"""JM301: a collective that only some devices or processes reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.operations import function_operations, same_sequence, within_map
from jaxmigrate.flow.processes import RESTORED
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.variance import Reading
from jaxmigrate.program.collectives import VMAP, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import expression_calls, last_name
from jaxmigrate.program.values import UNKNOWN, Application, External

CODE = "JM301"
FAR = 3  # lines, beyond which a reader does not see what parts the processes


def check(facts: Facts) -> Iterator[Finding]:
    """Operations under a test of the process index, and branches on a varying predicate with unlike collectives."""
    reported: set[Finding] = set()
    for finding in (*_processes(facts), *_devices(facts), *_written_out(facts)):
        if finding not in reported:
            reported.add(finding)
            yield finding


def _processes(facts: Facts) -> Iterator[Finding]:
    for branch in facts.process_branches:
        operation = branch.operation
        message = f"not every process reaches {operation.kind}; those that do wait forever"
        if operation.kind == RESTORED:
            message = (
                "only some processes restore the checkpoint; the others go on with other values; restore it on all"
            )
        if _is_behind(operation.node, branch.test, branch.module):
            message = f"processes can part here, and those that go on to {operation.kind} wait forever for the others"
            way = (Step(operation.module, operation.node, "which not all reach"),)
            yield from facts.finding(branch.module, branch.test, CODE, message, way)
        else:
            way = (Step(branch.module, branch.test, "processes differ here"),)
            yield from facts.finding(operation.module, operation.node, CODE, message, way)


def _is_behind(node: ast.AST, test: ast.expr, module: Module) -> bool:
    """Whether an operation stands outside of the statement that a test decides, some way behind it.

    Or a decorator decides, which a reader of the operation does not see.
    """
    parents = module.table.parents
    statement: ast.AST | None = parents.get(test)
    if isinstance(statement, ast.FunctionDef):
        return True
    while statement is not None and not isinstance(statement, ast.stmt):
        statement = parents.get(statement)
    above: ast.AST | None = node
    while above is not None and above is not statement:
        above = parents.get(above)
    return above is None and abs(getattr(node, "lineno", 0) - test.lineno) > FAR


def _devices(facts: Facts) -> Iterator[Finding]:
    for found, reading in _readings(facts):
        vmapped = _is_vmapped(found, facts)
        for divergence in reading.divergences:
            if vmapped and last_name(divergence.call.func) in ("cond", "switch"):
                continue  # which vmap makes a select of, so that all devices run all ways
            kind = divergence.operation.kind
            message = _hangs(kind)
            if found.name == VMAP:
                message = f"under vmap both branches run for all rows, and only some rows use the result of {kind}"
            yield from facts.finding(divergence.module, divergence.call, CODE, message)


def _is_vmapped(found: DeviceMap, facts: Facts) -> bool:
    """Whether a map is of a function under vmap: `pmap(vmap(step))`."""
    value = found.mapped
    while isinstance(value, Application) and isinstance(value.callee, External):
        if value.callee.name == VMAP:
            return True
        inner = argument(value.arguments, 0, "fun")
        values = facts.resolver.argument_values(inner) if inner is not None else ()
        value = values[0] if len(values) == 1 else UNKNOWN
    return False


def _readings(facts: Facts) -> Iterator[tuple[DeviceMap, Reading]]:
    """The readings of maps: of a mesh out of sight, along the axes that its specs name."""
    for one, ways in zip(facts.readings, facts.readings_along, strict=True):
        yield from ways if one[0].axes is None else [one]
    yield from facts.unmapped


def _hangs(kind: str) -> str:
    return f"devices can take different branches here, and only some of them run {kind}: the program hangs"


def _written_out(facts: Facts) -> Iterator[Finding]:
    """`cond(axis_index(a) == 0, ...)` in code that no map in sight leads to."""
    read = {divergence.call for _, reading in facts.readings for divergence in reading.divergences}
    for module, call in facts.calls("cond", "switch"):
        if call in read or "axis_index" not in module.text or len(call.args) < 3:
            continue
        callee = facts.resolver.value(call.func, module)
        if callee not in (External("jax.lax.cond"), External("jax.lax.switch")):
            continue
        if not any(_is_index(one, module, facts) for one in expression_calls(call.args[0])):
            continue
        ways = call.args[1].elts if isinstance(call.args[1], ast.List | ast.Tuple) else call.args[1:3]
        values = [facts.resolver.value(way, module) for way in ways]
        inside = [None if value == UNKNOWN else function_operations(value, facts.resolver) for value in values]
        found = [None if one is None else within_map(one) for one in inside]
        known = [operations for operations in found if operations is not None]
        other = next((one for one in known[1:] if not same_sequence(known[0], one)), None)
        if len(known) == len(found) and other is not None:
            kind = max(known[0], other, key=len)[0].kind
            yield from facts.finding(module, call, CODE, _hangs(kind))


def _is_index(call: ast.Call, module: Module, facts: Facts) -> bool:
    return facts.resolver.value(call.func, module) == External("jax.lax.axis_index")
