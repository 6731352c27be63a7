"""JM218: gradients of different weights are averaged."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.shard_gradients import mixed_gradients

CODE = "JM218"


def check(facts: Facts) -> Iterator[Finding]:
    """Gradients of what is split over an axis that are reduced over that axis."""
    reported: set[ast.expr] = set()
    for one in mixed_gradients(facts):
        module, node = one.given or (one.module, one.node)
        if node in reported or module.is_test:
            continue
        reported.add(node)
        message = (
            f"each device has another part of `{one.name}` along {one.axis!r}, and the gradients of all parts are "
            "reduced to one: reduce them over the axes of the batch alone"
        )
        way = (Step(one.module, one.node, "reduced here"),) if one.given is not None else ()
        yield from facts.finding(module, node, CODE, message, way)
