"""JM209: a loop starts from a new array, and each device makes something else of it, where JAX checks what varies."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import AXES, AXES_ARGUMENT, Facts, Place
from jaxmigrate.flow.readings import DeviceMap, is_checked
from jaxmigrate.flow.variance import Reading

CODE = "JM209"


def check(facts: Facts) -> Iterator[Finding]:
    """New arrays that scan, fori_loop or while_loop carry, under check_vma, and that vary once they have gone round."""

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        if found.axes and is_checked(found, facts.resolver):
            yield from (Place(module, node, _told(ast.unparse(node))) for module, node in reading.carries)

    return facts.along_axes(CODE, find)


def _told(start: str) -> str:
    shown = start if len(start) <= 40 else "..."
    return (
        f"the loop starts from a replicated value, but its result varies over {AXES}, which JAX refuses; "
        f"start from jax.lax.pcast({shown}, {AXES_ARGUMENT}, to='varying')"
    )
