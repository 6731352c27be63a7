"""What a raised JAX asks of other lines: NumPy 1 where something runs with no other, libraries that still have Flax."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.program.last_releases import Last, last_releases
from jaxmigrate.program.least_releases import least_releases
from jaxmigrate.program.required_libraries import required_by
from jaxmigrate.requirement_lines import Requirement, asked, dotted

NUMPY = ("numpy", "numpy-base")
NUMPY_2 = (2,)
_LISTS = (".txt", ".in")  # files of one requirement a line


class Change(NamedTuple):
    """New text in a line."""

    line: int
    start: int
    end: int
    text: str


def wants_numpy_1(near: Sequence[Requirement]) -> Requirement | None:
    """The requirement of a file that runs beside NumPy 1 only, where NumPy 2 is let in."""
    return next((one for one in near if one.with_numpy_1), None)


def numpy_1(name: str, text: str, here: Sequence[Requirement], near: Sequence[Requirement]) -> Iterator[Change]:
    """NumPy below 2 in the lines that are not raised, or in one of its own."""
    wants = wants_numpy_1(near)
    if wants is None:
        return
    numpy = [one for one in near if one.name in NUMPY]
    for one in numpy:
        if one not in here and not _ends(one, NUMPY_2):
            yield Change(one.line, one.end, one.end, ",<2")
    if not numpy and name.endswith(_LISTS):
        bare = next(_bare(text, "numpy"), None)
        yield (
            Change(bare.line, bare.end, bare.end, "<2")
            if bare is not None
            else _line_below(text, wants.line, "numpy<2")
        )


def untold_numpy_1(name: str, near: Sequence[Requirement]) -> Iterator[str]:
    """That NumPy 1 is needed, where no line says anything of it."""
    wants = wants_numpy_1(near)
    if wants is not None and not name.endswith(_LISTS) and not any(one.name in NUMPY for one in near):
        yield f"{name}:{wants.line} asks for {wants.name}{wants.asked}, which runs beside NumPy 1 only: ask for numpy<2"


def opened(root: Path, name: str, here: Sequence[Requirement]) -> list[Requirement]:
    """The fixed releases of what raised libraries require themselves, in the same list."""
    libraries = required_by(one.name for one in here) if name.endswith(_LISTS) else ()
    if not libraries:
        return []
    known = least_releases()
    found = (one for one in asked(root, (name,), libraries) if one.name not in known and not one.fixed)
    return [one for one in found if len(one.bounds) == 1 and one.bounds[0].how == "==" and not one.bounds[0].any_patch]


def as_least(text: str, ones: Sequence[Requirement]) -> Iterator[Change]:
    """These from the releases on that were fixed."""
    for one in ones:
        said = text.split("\n")[one.line - 1][one.start : one.end]
        yield Change(one.line, one.start, one.end, said.replace("==", ">=", 1))


def with_flax(root: Path, name: str, text: str, uses: Callable[[Last], bool]) -> Iterator[Change]:
    """Libraries below the release that has no Flax, without the extra that asks for an older JAX."""
    for row in last_releases():
        below = f"<{dotted(row.below)}"
        bounded = [one for one in asked(root, (name,), (row.name,)) if not one.fixed]
        for one in bounded:
            start, end = one.word
            word = text.split("\n")[one.line - 1][start:end]
            yield from _without_extra(name, text, row, Change(one.line, start, end, word))
            if not _ends(one, row.below) and (_has_extra(row, word) or uses(row)):
                yield Change(one.line, one.end, one.end, f",{below}")
        if name.endswith(_LISTS) and not bounded:
            for place in _bare(text, row.name):
                if _has_extra(row, place.text):
                    yield from _without_extra(name, text, row, place, below)
                elif uses(row):
                    yield Change(place.line, place.end, place.end, below)


def _without_extra(name: str, text: str, row: Last, place: Change, below: str = "") -> Iterator[Change]:
    """Takes the extra out of a word, and asks for what it brought."""
    if not name.endswith(_LISTS) or not _has_extra(row, place.text):
        return
    bare, _, extras = place.text.partition("[")
    kept = ",".join(one for one in extras.rstrip("]").split(",") if one.strip() != row.extra)
    yield Change(place.line, place.start, place.end, f"{bare}[{kept}]{below}" if kept else f"{bare}{below}")
    for brought in row.brings:
        if re.search(rf"^\s*{brought}(?![\w.-])", text, re.MULTILINE) is None:
            yield _line_below(text, place.line, f"{brought}>={dotted(least_releases()[brought].release)}")


def _has_extra(row: Last, word: str) -> bool:
    return row.extra in (one.strip() for one in word.partition("[")[2].rstrip("]").split(","))


def _ends(one: Requirement, release: tuple[int, ...]) -> bool:
    """Whether a requirement leaves out a release and all after it."""
    return any(bound.leaves_out(release) for bound in one.bounds)


def _bare(text: str, name: str) -> Iterator[Change]:
    """The lines that ask for any release of a library; the text is its name with its extras."""
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(rf"\s*({name}(?:\[[^\]]*\])?)\s*(?:#.*)?$", line.rstrip("\r"), re.IGNORECASE)
        if found is not None:
            yield Change(number, *found.span(1), found[1])


def _line_below(text: str, number: int, said: str) -> Change:
    line = text.split("\n")[number - 1]
    return Change(number, len(line), len(line), f"\n{said}" + ("\r" if line.endswith("\r") else ""))
