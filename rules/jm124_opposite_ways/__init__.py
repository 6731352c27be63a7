"""JM124: an exchange with neighbours goes another way than its name, or those beside it, say."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.directions import misdirected
from jaxmigrate.flow.facts import Facts

CODE = "JM124"


def check(facts: Facts) -> Iterator[Finding]:
    """Permutations that are alike where their names are opposite, and one of several that goes the other way."""
    told = set[object]()
    for module, call, beside in misdirected(facts):
        if call not in told:
            told.add(call)
            message = "this goes the other way round than is meant by its name, or with the values beside it"
            way = (Step(module, beside, "compare with this"),) if beside is not call else ()
            yield from facts.finding(module, call, CODE, message, way)
