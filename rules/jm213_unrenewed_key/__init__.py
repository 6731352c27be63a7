"""JM213: each step draws the same random numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.fixed_keys import fixed_keys
from jaxmigrate.flow.stale_keys import drawn_again, unrenewed, unreplaced, yielded

CODE = "JM213"
DRAWS = "each step draws the same random numbers: `{}` is the same key each time"


def check(facts: Facts) -> Iterator[Finding]:
    """Keys from outside a loop by which each round of it draws, on the host or on the devices."""
    reported: set[ast.expr] = set()
    for one in unrenewed(facts):
        if one.node not in reported:
            reported.add(one.node)
            message = f"{DRAWS.format(one.module.segment(one.node))}; split it in the loop and keep the new one"
            yield from facts.finding(
                one.module, one.node, CODE, message, (Step(one.draw.module, one.draw.node, "drawn from here"),)
            )
    for given in yielded(facts):
        if given.node not in reported:
            reported.add(given.node)
            message = f"{DRAWS.format(given.module.segment(given.node))}; keep the other key that it gives"
            yield from facts.finding(given.module, given.node, CODE, message)
    for left in unreplaced(facts):
        if left.call not in reported:
            reported.add(left.call)
            message = (
                f"each step draws the same random numbers: nothing replaces `{left.field}`; give the next state a "
            )
            way = (Step(left.draw.module, left.draw.node, "drawn from here"),)
            yield from facts.finding(left.module, left.call, CODE, f"{message}a new one, or fold the step into it", way)
    for fixed in fixed_keys(facts):
        if fixed.node not in reported:
            reported.add(fixed.node)
            message = (
                "each step draws the same random numbers, on every device: "
                f"{fixed.module.segment(fixed.node)} is a fixed key; "
            )
            advice = "pass the step a key that is split for it and for each device"
            yield from facts.finding(fixed.module, fixed.node, CODE, f"{message}{advice}")
    for again in drawn_again(facts):
        if again.loop == "scan":
            message = "each step of the loop draws the same random numbers: its key comes from outside; "
            yield from facts.finding(
                again.module, again.node, CODE, f"{message}fold the step into it, or carry it and split it"
            )
