"""JM209: a loop starts from what does not vary, and each device makes something else of it, where JAX checks that."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import AXES, AXES_ARGUMENT, Facts, Place
from jaxmigrate.flow.readings import DeviceMap, is_checked, refuses_varying
from jaxmigrate.flow.variance import Reading

CODE = "JM209"


def check(facts: Facts) -> Iterator[Finding]:
    """Replicated values that scan, fori_loop or while_loop carry, under check_vma, and that vary after a round.

    Also under check_rep of the older shard_map, which takes them before jax 0.6 and refuses them since.
    """

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        if found.axes and refuses_varying(found, facts.resolver):
            checked = is_checked(found, facts.resolver)
            if not checked and facts.resolver.project.era == "old":
                return  # of those releases, none refuses it
            since = "" if checked else " since jax 0.6"
            yield from (Place(module, node, _told(ast.unparse(node), since)) for module, node in reading.carries)

    return facts.along_axes(CODE, find)


def _told(start: str, since: str) -> str:
    shown = start if len(start) <= 40 else "..."
    return (
        f"the loop starts from a replicated value, but its result varies over {AXES}, which JAX refuses{since}; "
        f"start from jax.lax.pcast({shown}, {AXES_ARGUMENT}, to='varying')"
    )
