"""Facts about a whole program that are found out once, and kept with it by the function that finds them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar, cast

from jaxmigrate.program.resolve import Resolver

Fact = TypeVar("Fact")
Key = TypeVar("Key", bound=Hashable)


def once(find: Callable[[Resolver], Fact]) -> Callable[[Resolver], Fact]:
    """A function of a program that is worked out at its first call; nothing but the function itself gets at the fact.

    The fact lives as long as the resolver does that knows the program.
    """

    @wraps(find)
    def found(resolver: Resolver) -> Fact:
        kept = resolver.kept
        if find not in kept:
            kept[find] = find(resolver)
        return cast("Fact", kept[find])

    return found


def once_each(find: Callable[[Key, Resolver], Fact]) -> Callable[[Key, Resolver], Fact]:
    """The same for a function of a program and of something in it, a module say: worked out once for each of these."""

    @wraps(find)
    def found(key: Key, resolver: Resolver) -> Fact:
        kept = cast("dict[Key, Fact]", resolver.kept.setdefault(find, {}))
        if key not in kept:
            kept[key] = find(key, resolver)
        return kept[key]

    return found
