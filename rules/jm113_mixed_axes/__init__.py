"""JM113: the number of devices along one axis, used for those along another."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axis_rounds import mixed
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.mixed_axes import offsets, permutations

CODE = "JM113"


def check(facts: Facts) -> Iterator[Finding]:
    """Permutations and offsets that are made of the size of another axis than the one that they are used along."""
    for module, node, axis, own in permutations(facts):
        message = f"ppermute along {axis!r} by a permutation that is made for the devices along {own!r}"
        yield from facts.finding(module, node, CODE, message)
    for module, node, axis, own in offsets(facts):
        message = (
            f"the index along {axis!r} chooses a part of what is divided among the devices along {own!r}; "
            f"write axis_index({own!r}), or divide by axis_size({axis!r})"
        )
        yield from facts.finding(module, node, CODE, message)
    for one in mixed(facts):
        yield from facts.finding(one.module, one.node, CODE, one.message)
