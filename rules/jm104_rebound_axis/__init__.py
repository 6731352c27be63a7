"""JM104: a map binds an axis name that a map around it has bound already."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.exclusive import exclude_each_other
from jaxmigrate.flow.facts import Facts

CODE = "JM104"


def check(facts: Facts) -> Iterator[Finding]:
    """Maps inside a map of the same name: what is inside can no longer reach the outer axis."""
    reported: set[object] = set()
    for found in facts.axes.rebindings:
        itself = any(step.node is found.node for step in found.way)  # `f = pmap(f)`: which f is mapped, order tells
        if itself or (found.node, found.axis) in reported:
            continue
        if exclude_each_other([(found.node, found.module), *((step.node, step.module) for step in found.way)]):
            continue
        reported.add((found.node, found.axis))
        inner = found.name.rpartition(".")[2]
        message = f"{inner} binds the axis {found.axis!r} again; collectives inside it no longer reach the outer one"
        yield from facts.finding(found.module, found.node, CODE, message, found.way)
