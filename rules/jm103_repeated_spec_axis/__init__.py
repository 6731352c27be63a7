"""JM103: a PartitionSpec names the same axis twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.axis_rules import repeated_axes
from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import SPECS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

CODE = "JM103"


def check(facts: Facts) -> Iterator[Finding]:
    """Specs written out with one name in two places."""
    for module, call in facts.calls("PartitionSpec", "P"):
        callee = facts.resolver.value(call.func, module)
        if not isinstance(callee, External) or callee.name not in SPECS or _is_compared(call, module):
            continue
        for axis in repeated(call, module, facts):
            message = f"the spec names the axis {axis!r} twice, but an axis can split one dimension only"
            yield from facts.finding(module, call, CODE, message)
    for table, rule, axis, where, node in repeated_axes(facts.resolver):
        if table.module in facts.modules:
            message = (
                f"two dimensions of {ast.unparse(node)} are split over {axis!r}, which can split one dimension only"
            )
            yield from facts.finding(table.module, rule.node, CODE, message, (Step(where, node, "the dimensions"),))


def _is_compared(call: ast.Call, module: Module) -> bool:
    """Whether a spec is there to be compared with another one, as in a test of what makes them."""
    parent = module.table.parents.get(call)
    asserts = isinstance(parent, ast.Call) and last_name(parent.func).startswith("assert")
    return asserts or isinstance(parent, ast.Compare)


def repeated(call: ast.Call, module: Module, facts: Facts) -> list[str]:
    """The axes that a spec names more than once."""
    seen: list[str] = []
    for one in call_arguments(call, module):
        if one.keyword is not None:
            continue
        nodes = one.expression.elts if isinstance(one.expression, ast.Tuple | ast.List) else [one.expression]
        for node in nodes:
            if node is not None and len(facts.resolver.values(node, module)) == 1:  # not `'i' if split else None`
                seen += axis_names(node, module, facts.resolver, {}) or ()
    return sorted({axis for axis in seen if seen.count(axis) > 1})
