"""What the host knows of a value: whether it has a leading axis of devices, its parts, and which map gave it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jaxmigrate.program.modules import Module

Key = int | str
MOST = 8  # sources of one value, and parts of one that are taken together
DEEPEST = 3  # parts in one another that are joined
ANY = "*"  # the key of all elements of a list, and of what a dictionary holds under keys that are not known


class Source(NamedTuple):
    """A part of what a map gave in a call: `path` leads to it, and `names` are those that it was read by."""

    call: ast.Call
    path: tuple[Key, ...]
    names: tuple[str, ...]


class Held(NamedTuple):
    """A value of the host's.

    Attributes:
        axis: Whether it has a leading axis of one slice for each device; None where that is not known.
        node: The expression that made it so.
        module: The module of that.
        restored: Whether it is read back, and so is as what was saved.
        nothing: Whether it is None, which is no value yet.
        mixed: Whether it has such an axis on one way, and none on another.
        parts: What a tuple, dictionary or object holds, as far as that is known.
        sources: Which maps gave it.
        of_copies: Whether a map or `replicate` put the axis there, in front of all others.
    """

    axis: bool | None = None
    node: ast.expr | None = None
    module: Module | None = None
    restored: bool = False
    nothing: bool = False
    mixed: bool = False
    parts: Mapping[Key, Held] | None = None
    sources: tuple[Source, ...] = ()
    of_copies: bool = False

    def part(self, key: Key) -> Held:
        """What stands under a key or in a field."""
        parts = self.parts or {}
        if key in parts:
            return parts[key]
        if isinstance(key, int) and key < 0 and (number := sum(isinstance(one, int) for one in parts)):
            return parts.get(number + key, UNKNOWN)
        if ANY in parts:
            return parts[ANY]
        deeper = tuple(
            Source(one.call, (*one.path, key), (*one.names, key) if isinstance(key, str) else one.names)
            for one in self.sources
        )
        known = (self.axis, self.node, self.module, self.restored)
        return Held(*known, mixed=self.mixed, sources=deeper, of_copies=self.of_copies)

    def element(self) -> Held:
        """Any one of what a list holds; of many, nothing is known of all."""
        return joined(self.parts.values()) if self.parts and len(self.parts) <= MOST else UNKNOWN

    def with_part(self, key: Key, held: Held) -> Held:
        """The same value with another part."""
        return self._replace(parts={**(self.parts or {}), key: held})

    def beside(self, key: Key, held: Held) -> Held:
        """The same value with one more part that may stand under a key."""
        before = (self.parts or {}).get(key)
        return self.with_part(key, held if before is None else join(before, held))


UNKNOWN = Held()
NOTHING = Held(nothing=True)


def joined(values: Iterable[Held]) -> Held:
    """What is true of all of some values."""
    found: Held | None = None
    for one in values:
        found = one if found is None else join(found, one)
    return UNKNOWN if found is None else found


def join(one: Held, other: Held, depth: int = DEEPEST) -> Held:
    """What is true of a value that is one of two; of parts of parts only so far."""
    if one is other or other.nothing:
        return one
    if one.nothing:
        return other
    parts: dict[Key, Held] | None = None
    if depth and (one.parts is not None or other.parts is not None):
        first, second = one.parts or {}, other.parts or {}
        parts = {key: join(one.part(key), other.part(key), depth - 1) for key in {**first, **second}}
    sources = one.sources + tuple(source for source in other.sources if source not in one.sources)
    mixed = one.mixed or other.mixed or {one.axis, other.axis} == {True, False}
    known = other if one.axis is None and one.restored else one
    if mixed or (one.axis != other.axis and not one.restored and not other.restored):
        known = UNKNOWN
    return Held(
        known.axis,
        known.node,
        known.module,
        one.restored and other.restored,
        False,
        mixed,
        parts,
        sources[:MOST],
        known.of_copies,
    )
