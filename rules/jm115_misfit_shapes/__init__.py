"""JM115: arrays whose shapes do not fit their specs, each other, or the loop that carries them."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.shapes import misfits

CODE = "JM115"
GIVES_WAY = True  # other rules about specs and axes say more of the cause


def check(facts: Facts) -> Iterator[Finding]:
    """What running a module is certain to come to, where it says itself how large its arrays are."""
    for module in facts.modules:
        for one in misfits(module, facts.resolver):
            told, mark, advice = one.message.partition("; ")
            yield from facts.finding(one.module, one.node, CODE, f"{told}, which JAX refuses{mark}{advice}")
