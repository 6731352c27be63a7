"""JM301: a collective that only some devices or processes reach."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.collectives import VMAP

CODE = "JM301"


def check(facts: Facts) -> Iterator[Finding]:
    """Operations under a test of the process index, and branches on a varying predicate with unlike collectives."""
    reported: set[Finding] = set()
    for finding in (*_processes(facts), *_devices(facts)):
        if finding not in reported:
            reported.add(finding)
            yield finding


def _processes(facts: Facts) -> Iterator[Finding]:
    for branch in facts.process_branches:
        operation = branch.operation
        message = f"not every process reaches {operation.kind}; the others wait for it forever"
        way = (Step(branch.module, branch.test, "processes differ here"),)
        yield from facts.finding(operation.module, operation.node, CODE, message, way)


def _devices(facts: Facts) -> Iterator[Finding]:
    for found, reading in facts.readings:
        for divergence in reading.divergences:
            kind = divergence.operation.kind
            message = f"devices can take different branches here, and only some of them do {kind}: it hangs"
            if found.name == VMAP:
                message = f"vmap makes a choice of this branch, of which only some rows take the result of {kind}"
            yield from facts.finding(divergence.module, divergence.call, CODE, message)
