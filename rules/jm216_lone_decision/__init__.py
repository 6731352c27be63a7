"""JM216: each device decides by its own values about a step that all devices take together."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.early_norms import early_tests
from jaxmigrate.flow.facts import AXES, AXES_ARGUMENT, Facts, Place
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.variance import Reading
from jaxmigrate.program.collectives import VMAP

CODE = "JM216"


def check(facts: Facts) -> Iterator[Finding]:
    """Choices between states, and lengths of steps, by what was not reduced."""

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        if found.name == VMAP or not found.axes:
            return
        for module, node, what in reading.decided:
            message = (
                f"each device along {AXES} decides by its own gradients, loss or data {what}, though all were reduced: "
                f"their parameters drift apart; reduce what decides over {AXES_ARGUMENT} before"
            )
            yield Place(module, node, message)

    yield from facts.along_axes(CODE, find, unmapped=True)
    for module, test in early_tests(facts):
        message = (
            "each device tests whether its own gradients are finite, and uses the result after they are reduced: "
            "devices may decide differently; test the reduced gradients"
        )
        yield from facts.finding(module, test, CODE, message)
