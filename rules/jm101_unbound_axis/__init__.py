"""JM101: a collective or a PartitionSpec names an axis that nothing around it binds."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import AxisUse, shown
from jaxmigrate.flow.facts import DeviceMap, Facts
from jaxmigrate.flow.specs import spec_calls
from jaxmigrate.program.collectives import SHARD_MAPS
from jaxmigrate.program.values import Parameter

CODE = "JM101"


def check(facts: Facts) -> Iterator[Finding]:
    """Collectives that are certain to run where their axis is not bound, and specs that name no axis of their mesh."""
    reported: set[tuple[ast.AST, str]] = set()
    for use in facts.axis_uses:
        if is_unbound(use, facts) and (use.call, use.axis) not in reported:
            reported.add((use.call, use.axis))
            yield from _at_collective(use, facts)
    for found in facts.device_maps:
        if found.name in SHARD_MAPS and found.axes is not None:
            yield from _in_specs(found, found.axes, facts)


def is_unbound(use: AxisUse, facts: Facts) -> bool:
    """Whether the axis is certainly missing; a guard that may keep the collective from running speaks against it."""
    environment = use.environment
    if not environment.complete or use.axis in environment.axes:
        return False
    return bool(suggestion(use.axis, environment.axes)) or not is_guarded(use, facts)


def is_guarded(use: AxisUse, facts: Facts) -> bool:
    """Whether the collective stands under a test of something that a caller chooses, or in a try."""
    parents = use.module.table.parents
    node: ast.AST = use.call
    while node in parents and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node = parents[node]
        if isinstance(node, ast.Try):
            return True
        if isinstance(node, ast.If | ast.IfExp) and _depends_on_caller(node.test, use, facts):
            return True
    return False


def _depends_on_caller(test: ast.expr, use: AxisUse, facts: Facts) -> bool:
    names = [n for n in ast.walk(test) if isinstance(n, ast.Name | ast.Attribute)]
    values = [v for n in names for v in facts.resolver.values(n, use.module)]
    return any(isinstance(n, ast.Attribute) for n in names) or any(isinstance(v, Parameter) for v in values)


def suggestion(axis: str, axes: Collection[str]) -> str:
    """A bound axis that the name may have been meant for."""
    return next(iter(difflib.get_close_matches(axis, sorted(axes), 1, 0.6)), "")


def _message(axis: str, axes: Collection[str], who: str) -> str:
    near = suggestion(axis, axes)
    hint = f"; did you mean {near!r}?" if near else f" ({who} {shown(frozenset(axes))})"
    return f"axis {axis!r} is not bound here{hint}"


def _at_collective(use: AxisUse, facts: Facts) -> Iterator[Finding]:
    message = f"{use.name.rpartition('.')[2]}: " + _message(use.axis, use.environment.axes, "what is bound is")
    finding = facts.finding(use.module, use.call, CODE, message, use.way)
    if finding is not None:
        yield finding


def _in_specs(found: DeviceMap, axes: frozenset[str], facts: Facts) -> Iterator[Finding]:
    for keyword, position in (("in_specs", 2), ("out_specs", 3)):
        given = found.keyword(keyword, position)
        if given is None or given.expression is None:
            continue
        for module, node, named in spec_calls(given.expression, given.module, facts.resolver):
            for axis in sorted(named - axes):
                message = f"{keyword}: " + _message(axis, axes, "the mesh has")
                finding = facts.finding(module, node, CODE, message)
                if finding is not None:
                    yield finding
