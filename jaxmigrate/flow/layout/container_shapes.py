"""What is known of the containers that code makes: which keys a dictionary has, of which parts a tuple consists.

A dictionary is an object that names share, as in Python. What may change it unseen makes it one of unknown keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(slots=True, eq=False)
class Dictionary:
    """One dictionary; `entries` is None where its keys are not known."""

    entries: dict[str, Shape] | None = field(default_factory=dict)


Shape: TypeAlias = "Dictionary | tuple[Shape, ...] | None"
Fixed: TypeAlias = "Mapping[str, Fixed] | tuple[Fixed, ...] | None"
Names: TypeAlias = dict[str, Shape]


def fixed(shape: Shape) -> Fixed:
    """A shape that nothing changes any more."""
    if isinstance(shape, tuple):
        return tuple(map(fixed, shape))
    if isinstance(shape, Dictionary) and shape.entries is not None:
        return {key: fixed(one) for key, one in shape.entries.items()}
    return None


def fixed_names(names: Names) -> dict[str, Fixed]:
    """What is known of all names."""
    return {name: found for name, shape in names.items() if (found := fixed(shape)) is not None}


def escape(shape: Shape) -> None:
    """Takes note that anybody may change the dictionaries in a value."""
    if isinstance(shape, tuple):
        for one in shape:
            escape(one)
    elif isinstance(shape, Dictionary) and shape.entries is not None:
        inner, shape.entries = shape.entries, None
        for one in inner.values():
            escape(one)


def escape_below(shape: Shape) -> None:
    """The same of what lies in the dictionaries or tuples of a value."""
    held = shape.entries if isinstance(shape, Dictionary) else None
    for one in shape if isinstance(shape, tuple) else (held or {}).values():
        escape(one)


def copied(shape: Shape, memo: dict[Dictionary, Dictionary] | None = None) -> Shape:
    """A value of new containers; those that are one stay one, where a `memo` says which are copied already."""
    if isinstance(shape, tuple):
        return tuple(copied(one, memo) for one in shape)
    if not isinstance(shape, Dictionary):
        return None
    if memo is not None and shape in memo:
        return memo[shape]
    made = Dictionary(None)
    if memo is not None:
        memo[shape] = made
    if shape.entries is not None:
        made.entries = {key: copied(one, memo) for key, one in shape.entries.items()}
    return made


class Meeting:
    """Two ways that meet: each dictionary of one is one of the other, or its keys are not known any more."""

    def __init__(self) -> None:
        self.pairs: dict[Dictionary, tuple[Dictionary, Dictionary]] = {}
        self.others: dict[Dictionary, Dictionary] = {}

    def of(self, one: Shape, other: Shape) -> Shape:
        """What a value is after both."""
        if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            return tuple(self.of(a, b) for a, b in zip(one, other, strict=True))
        if isinstance(one, Dictionary) and isinstance(other, Dictionary):
            return self._dictionary(one, other)
        escape(one)
        escape(other)
        return None

    def _dictionary(self, one: Dictionary, other: Dictionary) -> Dictionary:
        if one in self.pairs or other in self.others:
            known, made = self.pairs.get(one, (None, self.others.get(other)))
            if known is not other:
                for each in (one, other, made, self.others.get(other)):
                    escape(each)
            assert made is not None
            return made
        made = Dictionary(None)
        self.pairs[one], self.others[other] = (other, made), made
        if one.entries is None or other.entries is None or one.entries.keys() != other.entries.keys():
            escape(one)
            escape(other)
        else:
            made.entries = {key: self.of(value, other.entries[key]) for key, value in one.entries.items()}
        return made


def met(one: Names | None, other: Names | None) -> Names | None:
    """The names after two ways; None for a way that does not get there."""
    if one is None or other is None:
        return other if one is None else one
    meeting = Meeting()
    return {name: meeting.of(one.get(name), other.get(name)) for name in {**one, **other}}


def fork(names: Names) -> Names:
    """The names for one of several ways, which changes dictionaries of its own."""
    memo: dict[Dictionary, Dictionary] = {}
    return {name: copied(shape, memo) for name, shape in names.items()}
