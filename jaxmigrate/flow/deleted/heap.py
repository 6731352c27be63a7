"""The host's names and objects, as far as arrays in them may be deleted: which name holds which object."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any, Literal, NamedTuple

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


class Gone(NamedTuple):
    """What a place holds that holds nothing."""


GONE = Gone()
Kind = Literal["names", "parts", "within", "deleted"]
Place = tuple[Kind, Any]  # a name of a frame, a key of an object, or an object
Changes = dict[Place, Any]


@record(eq=False, frozen=False)
class Heap:
    """What holds at a place of the program: `names` are those of a frame, by its number.

    `within` says of which object another is a part, `parts` what an object has under which key. `journal` has what
    each change replaced, so that another way through the program can begin where one began.
    """

    names: dict[tuple[int, str], Thing] = made(factory=dict)
    parts: dict[Thing, dict[Key, Thing]] = made(factory=dict)
    within: dict[Thing, Thing] = made(factory=dict)
    deleted: dict[Thing, Donation] = made(factory=dict)
    journal: list[tuple[Place, Any]] = made(factory=list)

    def bind(self, number: int, name: str, thing: Thing) -> None:
        """Gives a name of a frame an object."""
        self._write(("names", (number, name)), thing)

    def unbind(self, number: int, name: str) -> None:
        """Takes a name of a frame away."""
        self._write(("names", (number, name)), GONE)

    def put(self, thing: Thing, key: Key, part: Thing, *, inside: bool = False) -> None:
        """Gives an object a part; `inside`: which is deleted with it."""
        self._write(("parts", (thing, key)), part)
        if inside:
            self._write(("within", part), thing)

    def clear(self, thing: Thing) -> None:
        """Forgets what an object has."""
        for key in [*self.parts.get(thing, ())]:
            self._write(("parts", (thing, key)), GONE)

    def delete(self, thing: Thing, donation: Donation) -> None:
        """Notes that an object was donated."""
        self._write(("deleted", thing), donation)

    def mark(self) -> int:
        """Where the journal stands."""
        return len(self.journal)

    def undo(self, mark: int) -> Changes:
        """Goes back to where the journal stood; what had changed since."""
        changes = {place: self._read(place) for place, _ in self.journal[mark:]}
        for place, before in reversed(self.journal[mark:]):
            self._set(place, before)
        del self.journal[mark:]
        return changes

    def redo(self, changes: Changes) -> None:
        """Makes changes again."""
        for place, value in changes.items():
            self._write(place, value)

    def _read(self, place: Place) -> Any:
        kind, key = place
        if kind == "parts":
            return self.parts.get(key[0], {}).get(key[1], GONE)
        held: dict[Any, Any] = getattr(self, kind)
        return held.get(key, GONE)

    def _write(self, place: Place, value: Any) -> None:
        self.journal.append((place, self._read(place)))
        self._set(place, value)

    def _set(self, place: Place, value: Any) -> None:
        kind, key = place
        if kind == "parts":
            thing, key = key
            held: dict[Any, Any] = self.parts.setdefault(thing, {})
        else:
            held = getattr(self, kind)
        if value is GONE:
            held.pop(key, None)
        else:
            held[key] = value

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
            self._write(("deleted", above), GONE)
            above = self.within.get(above)
        for part in [*self.parts.get(thing, {}).values()]:
            self._write(("deleted", part), GONE)

    def join(self, one: Changes, other: Changes, fresh: Callable[[], Thing]) -> set[Thing]:
        """What holds after one of two ways, of which what differs is not known; what one way alone has deleted."""
        alone: set[Thing] = set()
        for place in {**one, **other}:
            before = self._read(place)
            first, second = one.get(place, before), other.get(place, before)
            kind, thing = place
            if kind == "deleted" and (first is GONE) is not (second is GONE):
                alone.add(thing)
            unclear = kind == "names" or (kind == "parts" and GONE not in (first, second))
            value = second if first is GONE else first
            self._write(place, fresh() if unclear and first != second else value)
        return alone
