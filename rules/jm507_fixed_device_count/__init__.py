"""JM507: a mesh is for a number of devices that is written down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.meshes import MeshCall, fixed_size

CODE = "JM507"
KNOWS = re.compile(r"device_count|AbstractMesh|num_cpu_devices|len\((?:\w+\.)?(?:local_)?devices\b")


def check(facts: Facts) -> Iterator[Finding]:
    """Meshes whose shape is all numbers, in modules that neither ask how many devices there are nor simulate some."""
    for mesh in facts.meshes:
        if mesh.module.is_test or KNOWS.search(mesh.module.text):
            continue
        size = _size(mesh, facts)
        if size is None or _is_chosen(mesh.call):
            continue
        message = f"the mesh is for {size} devices whatever the machine has; take the number from jax.device_count()"
        yield from facts.finding(mesh.module, mesh.call, CODE, message)


def _is_chosen(call: ast.Call) -> bool:
    """Whether a mesh is given a part of the devices that is cut out for it."""
    return any(k.arg == "devices" and isinstance(k.value, ast.Subscript) for k in call.keywords)


def _size(mesh: MeshCall, facts: Facts) -> int | None:
    return fixed_size(*mesh.shape, facts.resolver) if mesh.shape is not None else None
