"""JM212: parameters that start unlike on each device, and are trained as if they were replicated."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.unlike_parameters import drifting, unlike_parameters

CODE = "JM212"


def check(facts: Facts) -> Iterator[Finding]:
    """Mapped initialisation with a key for each device, where a mapped step then averages gradients."""
    for one in unlike_parameters(facts):
        message = (
            "each device initialises other parameters, by a key of its own, and trains them with gradients averaged "
            "over the devices: they never become equal; initialise once and replicate"
        )
        way = (Step(one.module, one.trained, "trained here"),)
        yield from facts.finding(one.module, one.call, CODE, message, way)
    for drift in drifting(facts):
        message = (
            "noise of each device's own on parameters that are replicated: they drift apart; draw it with one key for "
            "all devices"
        )
        way = (Step(drift.module, drift.call, "trained here"),)
        yield from facts.finding(drift.draw.module, drift.draw.node, CODE, message, way)
