"""JM201: a value is used as replicated, or as the gradient of all devices, without a reduction."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap, is_unchecked, unreduced_outputs
from jaxmigrate.flow.variance import Reading

CODE = "JM201"


def check(facts: Facts) -> Iterator[Finding]:
    """Outputs declared replicated that certainly vary, and updates by gradients that nothing has reduced."""
    reported: set[object] = set()
    for found, reading in facts.readings:
        for module, node, which in unreduced_outputs(found, reading, facts.resolver):
            message = (
                f"{which} varies over {shown(found.axes)} but is declared replicated; device 0's value is returned"
            )
            finding = facts.finding(module, node, CODE, message)
            if finding is not None and node not in reported:
                reported.add(node)
                yield finding
        for finding in _updates(found, reading, facts):
            if finding not in reported:
                reported.add(finding)
                yield finding


def _updates(found: DeviceMap, reading: Reading, facts: Facts) -> Iterator[Finding]:
    """Only where the function reduces something else: then it is data parallel, and no population or ensemble."""
    if not is_unchecked(found, facts.resolver) or not reading.reductions or not reading.returned.updated:
        return
    for module, node in reading.updates[:1]:
        axis = shown(found.axes)
        message = f"gradients are applied without a reduction over {axis}; the devices' parameters drift apart"
        finding = facts.finding(module, node, CODE, message)
        if finding is not None:
            yield finding
