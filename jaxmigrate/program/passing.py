"""Which parameter takes which argument of a call: Python's rules, for whatever an analysis has for values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from jaxmigrate.program.scopes import positional_names

T = TypeVar("T")


class Passed(NamedTuple, Generic[T]):
    """What a call passes: by parameter, positional arguments that are left over, and those by names of none.

    The left over go to `*args` and `**kwargs`, where the function has them; elsewhere the call raises.
    """

    known: dict[str, T]
    extra: Sequence[T]
    others: dict[str, T]


def passed(spec: ast.arguments, given: Sequence[T], named: Mapping[str, T], skip: int = 0) -> Passed[T]:
    """What the parameters of a function take of a call's arguments, but for the first `skip`, which are bound already.

    What is given both by position and by name, which raises, counts by name.
    """
    names = positional_names(spec)[skip:]
    known = dict(zip(names, given, strict=False))
    by_name = taken_by_name(spec, skip)
    known |= {name: value for name, value in named.items() if name in by_name}
    return Passed(known, given[len(names) :], {name: value for name, value in named.items() if name not in by_name})


def taken_by_name(spec: ast.arguments, skip: int = 0) -> frozenset[str]:
    """The parameters that take arguments by keyword: all but those before a `/`."""
    positional = [*spec.posonlyargs, *spec.args][skip:]
    return frozenset(p.arg for p in (*positional, *spec.kwonlyargs)).difference(p.arg for p in spec.posonlyargs)


def taker(spec: ast.arguments, place: int | str, skip: int = 0) -> str | None:
    """The parameter that takes the argument at a position, or of a keyword; None where none does by itself."""
    if isinstance(place, str):
        return place if place in taken_by_name(spec, skip) else None
    names = positional_names(spec)[skip:]
    return names[place] if place < len(names) else None


def passed_perhaps(call: ast.Call, name: str, place: int | None, skip: int = 0) -> Iterator[ast.expr]:
    """All that a call may pass for a parameter, which a position may take: any that a star hides among them.

    The first `skip` arguments are for nobody: a partial's function.
    """
    for keyword in call.keywords:
        if keyword.arg in (name, None):
            yield keyword.value
    for index, one in enumerate(call.args[skip:]):
        if isinstance(one, ast.Starred) and place is not None:
            yield from (o.value if isinstance(o, ast.Starred) else o for o in call.args[skip + index :])
            return
        if index == place:
            yield one
            return


def passed_by(call: ast.Call, names: Sequence[str]) -> dict[str, ast.expr]:
    """What a call passes for the positional parameters of these names; the star for those that one may hide."""
    stars = [index for index, one in enumerate(call.args) if isinstance(one, ast.Starred)]
    first = stars[0] if stars else len(call.args)
    given = [*call.args[:first], *(call.args[first] for _ in names[first:] if stars)]
    found = dict(zip(names, given, strict=False))
    return found | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
