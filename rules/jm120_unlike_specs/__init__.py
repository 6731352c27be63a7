"""JM120: a spec that splits an array along another dimension than the batches beside it, or than it is split."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.renewed_shardings import unlike_renewed
from jaxmigrate.flow.unlike_specs import exchanged_entries, foreign_axes, unlike_batches, unlike_results

CODE = "JM120"
GIVES_WAY = True  # other rules about specs say more of the cause


def check(facts: Facts) -> Iterator[Finding]:
    """Batches of one function, and results of shard_maps."""
    for one in unlike_batches(facts):
        place, other = one.places
        message = (
            f"{one.axis!r} splits {one.one.name} along dimension {place}, and {one.other.name} beside it along "
            f"dimension {other}: devices get other examples of one than of the other; split both along the same"
        )
        way = (Step(one.other.module, one.other.node, "beside it"),)
        yield from facts.finding(one.one.module, one.one.node, CODE, message, way)
    for foreign in foreign_axes(facts):
        axis, usual = foreign.axes
        message = (
            f"{axis!r} splits the examples of {foreign.one.name}, and {usual!r} those of {foreign.other.name} and "
            "others beside it: devices get other examples of one than of the others"
        )
        way = (Step(foreign.other.module, foreign.other.node, "beside it"),)
        yield from facts.finding(foreign.one.module, foreign.one.node, CODE, message, way)
    for entry in exchanged_entries(facts):
        message = (
            f"this spec of {entry.name} has the entries of that of {entry.other} in another order, though both are of "
            "one kind by their names: their blocks do not fit"
        )
        yield from facts.finding(entry.module, entry.node, CODE, message)
    for renewed in unlike_renewed(facts):
        message = (
            f"out_shardings: no result has the sharding {ast.unparse(renewed.taken)[:40]} of a donated argument: "
            "given to the next call, it raises; write the same sharding for both"
        )
        yield from facts.finding(renewed.module, renewed.given, CODE, message)
    for result in unlike_results(facts):
        said, found = result.places
        message = (
            f"this spec puts blocks side by side along dimension {said}, and {result.axis!r} splits what is returned "
            f"along dimension {found}: the blocks come out in the wrong places; write the axis for dimension {found}"
        )
        yield from facts.finding(result.module, result.spec, CODE, message)
