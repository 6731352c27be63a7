"""Facts about a whole program that are found out once, and kept with what knows it by the function that finds them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Protocol, TypeVar, cast


class Keeper(Protocol):
    """What knows a program: a resolver, or an interpreter of it. In `kept` nobody looks but the functions below."""

    kept: dict[object, object]


Owner = TypeVar("Owner", bound=Keeper)
Fact = TypeVar("Fact")
Key = TypeVar("Key", bound=Hashable)


def once(find: Callable[[Owner], Fact]) -> Callable[[Owner], Fact]:
    """A function of a program that is worked out at its first call; nothing but the function itself gets at the fact.

    The fact lives as long as what knows the program.
    """

    @wraps(find)
    def found(owner: Owner) -> Fact:
        kept = owner.kept
        if find not in kept:
            kept[find] = find(owner)
        return cast("Fact", kept[find])

    return found


def once_each(find: Callable[[Key, Owner], Fact]) -> Callable[[Key, Owner], Fact]:
    """The same for a function of a program and of something in it, a module say: worked out once for each of these."""

    @wraps(find)
    def found(key: Key, owner: Owner) -> Fact:
        kept = cast("dict[Key, Fact]", owner.kept.setdefault(find, {}))
        if key not in kept:
            kept[key] = find(key, owner)
        return kept[key]

    return found
