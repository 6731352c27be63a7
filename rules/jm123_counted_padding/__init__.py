"""JM123: what fills up a batch counts in an evaluation."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.counted_padding import counted_padding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.kept_padding import kept_padding
from jaxmigrate.flow.unmasked_sums import unmasked

CODE = "JM123"


def check(facts: Facts) -> Iterator[Finding]:
    """Padding for the devices, in evaluations without a mask."""
    for one in counted_padding(facts):
        message = (
            "the padding for the devices counts in the evaluation: give the map a mask, and divide by the psum of it"
        )
        yield from facts.finding(one.module, one.call, CODE, message, one.way)
    for kept in kept_padding(facts):
        yield from facts.finding(kept.module, kept.node, CODE, kept.message, kept.way)
    for sum_ in unmasked(facts):
        message = (
            f"what fills up a batch counts in this sum: {sum_.mask} tells it apart in others here; multiply by it first"
        )
        way = (Step(sum_.module, sum_.masked, "with it here"),)
        yield from facts.finding(sum_.module, sum_.node, CODE, message, way)
