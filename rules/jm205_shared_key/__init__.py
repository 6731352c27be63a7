"""JM205: all devices draw the same random bits."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.facts import Facts, Place
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.variance import Draw, Level, Reading
from jaxmigrate.flow.variance.lattice import GIVEN

CODE = "JM205"


def check(facts: Facts) -> Iterator[Finding]:
    """Draws, in functions that work on a batch together, by a key that they are given and that is equal everywhere."""

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        if found.axes is None:
            return
        if not reading.reductions and reading.returned.level == Level.NO:
            return  # all devices do the same, and had better draw the same
        for draw in reading.draws:
            if is_shared(draw):
                whose = f"one for all of {shown(found.axes)}; fold axis_index into it"
                if not found.axes:
                    whose = "one for all of them; give each its own"
                message = f"every device draws the same random bits here: the key is {whose}"
                yield Place(draw.module, draw.node, message)

    return facts.in_maps(CODE, find)


def is_shared(draw: Draw) -> bool:
    """Whether a key is equal on all devices for certain; one that the function makes itself is so on purpose."""
    return draw.key.level == Level.NO and GIVEN in draw.key.marks and not draw.key.host
