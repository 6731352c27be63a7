"""JM204: a reduction of gradients that shard_map has already summed."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import AXES, Facts, Place
from jaxmigrate.flow.readings import DeviceMap, is_checked
from jaxmigrate.flow.variance import Reading
from jaxmigrate.flow.variance.lattice import OF_EQUAL

CODE = "JM204"


def check(facts: Facts) -> Iterator[Finding]:
    """psum and pmean, under check_vma=True, of gradients with respect to parameters that are equal on all devices."""

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        for reduction in reading.reductions:
            name = reduction.name.rpartition(".")[2]
            operand = reduction.operand
            summed = name in ("psum", "pmean") and operand.gradient and OF_EQUAL in operand.marks and not operand.inner
            if summed and is_checked(found, facts.resolver):
                message = (
                    f"{name} of gradients with respect to replicated values: shard_map has already summed them over "
                    f"{AXES}, so they become too large by a factor, the number of devices"
                )
                yield Place(reduction.module, reduction.node, message)

    return facts.along_axes(CODE, find)
