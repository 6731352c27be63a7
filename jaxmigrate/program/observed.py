"""What a run of the original showed of its arrays, for the analyses that read it: plain data.

Nothing of it is proof. It says what was the case at every call of one run, so that whatever leans on it has to be
verified, bit for bit, by the same run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from jaxmigrate.records import record

# An expression of a file: its line from 1 and its column in characters from 1, and the line and byte where it ends.
Spot: TypeAlias = tuple[Path, int, int, int, int]
Site: TypeAlias = tuple[Path, int, int]  # a map, by where it begins
Fact: TypeAlias = tuple[object, ...]  # what names one observation: ("output", spot, place) and the like
Way: TypeAlias = Literal["replicate", "split"]
MADE, GIVEN, OUTPUT = "made", "given", "output"
FIRST_ARGUMENT, RECEIVER = "argument", "receiver"


@record
class Making:
    """What a call on the host made of arrays that reached mapped functions.

    Attributes:
        way: Each device got the same slice, or its part of a batch.
        calls: How often mapped functions were called with what it made; 0 where no run showed it.
        of: What it made that of, bit for bit: its first argument, the object whose method it is, or nothing that
            was seen, so that what it made has to be taken apart again.
        proven: The source shows it.
    """

    way: Way
    calls: int
    of: str = ""
    proven: bool = False


@record
class Observed:
    """What was the case at every call of a run.

    Attributes:
        made: Calls on the host, by where they stand.
        given: Arguments of mapped functions that nothing in sight made, by the site and their position.
        outputs: Results of mapped functions that all devices had alike, by the site and their place, with the number
            of calls.
        devices: On how many devices.
    """

    made: Mapping[Spot, Making] = {}
    given: Mapping[tuple[Site, int], Making] = {}
    outputs: Mapping[tuple[Site, tuple[int | str, ...]], int] = {}
    devices: int = 0

    def __bool__(self) -> bool:
        return bool(self.made or self.given or self.outputs)

    def halves(self) -> list[Observed]:
        """Two parts of what was made and given, those of one file together as far as they go; none of a single one."""
        every = sorted([(*spot, 1) for spot in self.made] + [(*site, index, 0) for site, index in self.given])
        middle = len(every) // 2
        if not middle:
            return []
        last = every[middle - 1]
        sides: list[Observed] = []
        for first in (True, False):
            made = {spot: one for spot, one in self.made.items() if ((*spot, 1) <= last) is first}
            given = {key: one for key, one in self.given.items() if ((*key[0], key[1], 0) <= last) is first}
            sides.append(Observed(made, given))
        return sides

    def without(self, facts: Collection[Fact]) -> Observed:
        """The same as if some facts had not been seen."""
        return Observed(
            {spot: one for spot, one in self.made.items() if (MADE, spot) not in facts},
            {key: one for key, one in self.given.items() if (GIVEN, *key) not in facts},
            {key: one for key, one in self.outputs.items() if (OUTPUT, *key) not in facts},
            self.devices,
        )


NOTHING_OBSERVED = Observed()
