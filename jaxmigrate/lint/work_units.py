"""Divides the files of a project into pieces for processes to work on and for the cache to remember."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.program.declarations import NOTHING_DECLARED, Declarations
from jaxmigrate.program.old_names import Era

MOST_FILES = 250


class Piece(NamedTuple):
    """Files of one project that are examined together.

    Attributes:
        files: Name, as the user gave it, and absolute path of each.
        names: The same for all files of the project: what findings in them are reported under.
        common: The folder that holds all files of the project.
        target: The oldest JAX that the project must run on, None for the newest.
        declared: What the project declares of functions.
        era: Which releases of JAX the project asks for alone: those before or those since 0.6.
    """

    files: tuple[tuple[str, Path], ...]
    common: Path
    target: tuple[int, ...] | None = None
    declared: Declarations = NOTHING_DECLARED
    era: Era = ""


def pieces(
    files: Sequence[tuple[str, Path]],
    common: Path,
    target: tuple[int, ...] | None = None,
    declared: Declarations = NOTHING_DECLARED,
    era: Era = "",
) -> list[Piece]:
    """The files in groups that lie together, for they import one another; few pieces change when a file is added."""
    ordered = sorted(files, key=lambda file: file[1].parts)
    return [Piece(tuple(group), common, target, declared, era) for group in _merged(_split(ordered, len(common.parts)))]


def _split(files: Sequence[tuple[str, Path]], depth: int) -> Iterator[Sequence[tuple[str, Path]]]:
    """Files in the order of their folders, divided by folder wherever there are too many."""
    if len(files) <= MOST_FILES:
        yield files
        return
    start = 0
    while start < len(files):
        parts = files[start][1].parts
        stop = start + 1
        while stop < len(files) and files[stop][1].parts[depth : depth + 1] == parts[depth : depth + 1]:
            stop += 1
        if len(parts) > depth + 1:
            yield from _split(files[start:stop], depth + 1)
        else:
            yield files[start:stop]
        start = stop


def _merged(groups: Iterator[Sequence[tuple[str, Path]]]) -> Iterator[list[tuple[str, Path]]]:
    """Small neighbours put together."""
    current: list[tuple[str, Path]] = []
    for group in groups:
        if current and len(current) + len(group) > MOST_FILES:
            yield current
            current = []
        current = [*current, *group]
    if current:
        yield current
