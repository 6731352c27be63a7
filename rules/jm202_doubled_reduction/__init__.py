"""JM202: a reduction of a value that is already reduced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.facts import Facts, Place
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.variance import Level, Reading, Reduction

CODE = "JM202"
EFFECTS = {
    "psum": "it becomes too large by the number of devices",
    "pmean": "it stays as it is, and the devices communicate for nothing",
}


def check(facts: Facts) -> Iterator[Finding]:
    """Reductions whose operand is, every time they are reached, the result of another one over the same axis."""

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        by_place: dict[object, list[Reduction]] = defaultdict(list)
        for reduction in reading.reductions:
            by_place[reduction.node].append(reduction)
        for same in by_place.values():
            if all(is_doubled(one) for one in same):
                name = same[0].name.rpartition(".")[2]
                effect = EFFECTS.get(name, EFFECTS["pmean"])
                message = f"{name} of a value that is already reduced over {shown(found.axes)}: {effect}"
                yield Place(same[0].module, same[0].node, message)

    return facts.in_maps(CODE, find)


def is_doubled(reduction: Reduction) -> bool:
    """Whether what is reduced is equal on all devices because it was reduced before."""
    operand = reduction.operand
    return operand.level == Level.NO and operand.reduced and not operand.host
