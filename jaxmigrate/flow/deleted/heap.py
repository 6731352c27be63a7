"""The host's names and objects, as far as arrays in them may be deleted: which name holds which object."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import NamedTuple

from jaxmigrate.program.modules import Module
from jaxmigrate.records import made, record

Key = int | str
Thing = int  # the number of an object; each evaluation of what makes one makes another
DEEPEST = 4  # parts in one another that are looked through


class Donation(NamedTuple):
    """A call that an object was donated in, and what it was called there."""

    module: Module
    call: ast.Call
    name: str


@record(eq=False, frozen=False)
class Heap:
    """What holds at a place of the program: `names` are those of a frame, by its number.

    `within` says of which object another is a part, `parts` what an object has under which key.
    """

    names: dict[tuple[int, str], Thing] = made(factory=dict)
    parts: dict[Thing, dict[Key, Thing]] = made(factory=dict)
    within: dict[Thing, Thing] = made(factory=dict)
    deleted: dict[Thing, Donation] = made(factory=dict)

    def copy(self) -> Heap:
        """The same, for another way through the program."""
        parts = {thing: dict(own) for thing, own in self.parts.items()}
        return Heap(dict(self.names), parts, dict(self.within), dict(self.deleted))

    def take(self, other: Heap) -> None:
        """Goes on with what holds somewhere else."""
        self.names, self.parts, self.within, self.deleted = other.names, other.parts, other.within, other.deleted

    def deleting(self, thing: Thing, unclear: Collection[Thing] = ()) -> Thing | None:
        """What was donated of an object: itself, what it is a part of, or one of its parts.

        Fields that are `unclear` need not be arrays, and so are not deleted with what they are a part of.
        """
        above: Thing | None = thing
        for _ in range(DEEPEST):
            if above is None:
                break
            if above in self.deleted:
                return above
            above = self.within.get(above) if above not in unclear else None
        return self._below(thing, 0)

    def _below(self, thing: Thing, depth: int) -> Thing | None:
        if thing in self.deleted:
            return thing
        parts = self.parts.get(thing, {}).values() if depth < DEEPEST else ()
        return next((found for one in parts if (found := self._below(one, depth + 1)) is not None), None)

    def restore(self, thing: Thing) -> None:
        """What was told once is not told again: the program has ended there."""
        above: Thing | None = thing
        while above is not None:
            self.deleted.pop(above, None)
            above = self.within.get(above)
        for part in self.parts.get(thing, {}).values():
            self.deleted.pop(part, None)

    def join(self, other: Heap, fresh: Callable[[], Thing]) -> set[Thing]:
        """What holds after one of two ways, of which what differs is not known; what one way alone has deleted."""
        names = {key: thing if other.names.get(key) == thing else fresh() for key, thing in self.names.items()}
        self.names = {**{key: fresh() for key in other.names if key not in names}, **names}
        for thing, own in other.parts.items():
            mine = self.parts.setdefault(thing, {})
            for key, part in own.items():
                if mine.setdefault(key, part) != part:
                    mine[key] = fresh()
        self.within = {**other.within, **self.within}
        alone = {*self.deleted} ^ {*other.deleted}
        self.deleted = {**other.deleted, **self.deleted}
        return alone
