"""What a project declares of itself in `[tool.jaxmigrate]`, for every analysis to read: plain data."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Literal

from jaxmigrate.records import record

Kind = Literal["readers", "replicates", "splits", "unreplicates", "equal", "never-replaced", "apart", "processes"]
KINDS: tuple[Kind, ...] = ("readers", "replicates", "splits", "unreplicates", "equal", "never-replaced", "apart")


@record
class Declarations:
    """The facts that `[tool.jaxmigrate]` states, most as patterns of names, and the folder that the project lies in.

    Attributes:
        root: Where the project lies: names of its own are counted from here.
        readers: Functions that only read what they are given.
        replicates: Functions that make one slice for each device, all equal, of what they are given.
        splits: Functions that cut a batch up for the devices, as `reshape((n, -1) + x.shape[1:])` does.
        unreplicates: Functions that take the first device's slice.
        equal: Variables, and results of mapped functions, that are equal on all devices.
        never_replaced: Functions in whose place no other code of the project puts anything that matters.
        apart: Files that do not reach into the programs that are rewritten.
        processes: How many processes make up the program, 0 where nothing says so.
    """

    root: Path | None = None
    readers: tuple[str, ...] = ()
    replicates: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    unreplicates: tuple[str, ...] = ()
    equal: tuple[str, ...] = ()
    never_replaced: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    processes: int = 0

    def of(self, kind: Kind) -> tuple[str, ...]:
        """The patterns of one kind."""
        found: tuple[str, ...] = getattr(self, kind.replace("-", "_"))
        return found

    def __bool__(self) -> bool:
        """Whether anything is said of names."""
        return self._says_anything

    @cached_property
    def _says_anything(self) -> bool:
        return any(self.of(kind) for kind in KINDS)


NOTHING_DECLARED = Declarations()
