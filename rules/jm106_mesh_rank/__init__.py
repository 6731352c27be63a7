"""JM106: a mesh has more or fewer axis names than its array of devices has dimensions."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.meshes import has_nameless
from jaxmigrate.terminal import plural

CODE = "JM106"


def check(facts: Facts) -> Iterator[Finding]:
    """Meshes whose shape and names are both in sight and differ in length, or of whose names one is None."""
    for mesh in facts.meshes:
        if has_nameless(mesh, facts.resolver):
            message = "None is no name for an axis of a mesh, which has one for each dimension of its devices"
            yield from facts.finding(mesh.module, mesh.call, CODE, message)
            continue
        if mesh.rank is None or mesh.axes is None or mesh.rank == len(mesh.axes):
            continue
        message = f"the mesh has {plural(mesh.rank, 'dimension')} but {plural(len(mesh.axes), 'axis name')}"
        yield from facts.finding(mesh.module, mesh.call, CODE, message)
