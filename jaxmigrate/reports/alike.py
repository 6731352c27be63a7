"""Assumptions of one kind in one file, told once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from jaxmigrate.migrate.plan import Assumed

FEWEST = 3  # that are alike: two are told one by one
_NAME = re.compile(r"`[^`]*`")


def told(assumed: Iterable[Assumed]) -> Iterator[str]:
    """Each assumption in words; of several that differ in one name alone, the first, how many more, and all lines."""
    groups: dict[tuple[str, str, str], list[Assumed]] = {}
    for one in assumed:
        groups.setdefault((one.grade, str(one.path), _NAME.sub("`", one.says)), []).append(one)
    for group in groups.values():
        varying = _varying([_NAME.findall(one.says) for one in group])
        if len(group) < FEWEST or len(varying) > 1:
            yield from map(str, group)
        else:
            yield _together(group, [_NAME.findall(one.says)[varying[0]] if varying else "" for one in group])


def _varying(names: Sequence[Sequence[str]]) -> list[int]:
    """The places in which lists of names differ."""
    return [i for i, column in enumerate(zip(*names, strict=True)) if len(set(column)) > 1]


def _together(group: Sequence[Assumed], names: Sequence[str]) -> str:
    first, more = group[0], [*dict.fromkeys(names)][1:]
    lines = sorted({one.line for one in group if one.line})
    place = first.place.rpartition(":")[0] + ":" + _ranges(lines) if len(lines) > 1 else first.place
    if not more:
        also = ""
    elif len(more) == 1:
        also = f"; the same of {more[0]}"
    else:
        also = f"; the same of {more[0]} and {len(more) - 1} more"
    return str(first).replace(f"({first.place})", f"({place})").replace(first.says, f"{first.says}{also}")


def _ranges(lines: Sequence[int]) -> str:
    """Numbers in order, those that follow one another as a range: `3-5, 9`."""
    ranges: list[list[int]] = []
    for line in lines:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in ranges)
