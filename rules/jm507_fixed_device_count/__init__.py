"""JM507: a mesh is for a number of devices that is written down."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.meshes import MeshCall, fixed_size

CODE = "JM507"
KNOWS = ("device_count", "AbstractMesh")  # the program asks how many there are, or simulates so many


def check(facts: Facts) -> Iterator[Finding]:
    """Meshes whose shape is all numbers, in modules that do not see to it that there are so many devices."""
    for mesh in facts.meshes:
        if mesh.module.is_test or any(word in mesh.module.text for word in KNOWS):
            continue
        size = _size(mesh, facts)
        if size is None:
            continue
        message = f"the mesh is for {size} devices whatever the machine has; take the number from jax.device_count()"
        yield from facts.finding(mesh.module, mesh.call, CODE, message)


def _size(mesh: MeshCall, facts: Facts) -> int | None:
    return fixed_size(*mesh.shape, facts.resolver) if mesh.shape is not None else None
