"""JM214: several draws by one key."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.drawn_twice import drawn_twice
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.stale_keys import drawn_again

CODE = "JM214"
TIMES = {"tree": "for each leaf", "round": "in each round"}


def check(facts: Facts) -> Iterator[Finding]:
    """Draws of mapped functions by a key that has been drawn by, or that draws for each leaf or in each round."""
    for two in drawn_twice(facts):
        message = "draws by a key that has been drawn by already: the numbers are not independent; split the key"
        way = (Step(two.module, two.first, "first drawn here"),)
        yield from facts.finding(two.module, two.second, CODE, message, way)
    for again in drawn_again(facts):
        if again.loop in TIMES:
            message = f"draws {TIMES[again.loop]} by the same key: the same numbers again; split it, one for each"
            yield from facts.finding(again.module, again.node, CODE, message)
