"""The part of the files that is one machine's to tell of, where several divide the work between them.

Files are dealt out by their place in the order of their names, not by a hash of them: what lies together imports one
another and is examined together, so that a machine examines the pieces that its stretch of the names is in and those
that lead there, and not nearly all of them. A file more or less moves each border by one file at most.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.lint.examine import concerns
from jaxmigrate.lint.importers import Importers
from jaxmigrate.lint.work_units import Piece
from jaxmigrate.program.modules import Project, read_utf8


class Shard(NamedTuple):
    """Part `number`, counted from 1, of so many."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def parse_shard(text: str) -> Shard:
    """The shard that `2/4` means.

    Raises:
        ValueError: It is not of that form, or counts beyond the number of shards.
    """
    index, _, count = text.partition("/")
    if not all(part.isascii() and part.isdigit() for part in (index, count)) or not 1 <= int(index) <= int(count):
        raise ValueError(f"{text!r} is not a shard I/N, such as 2/4 for the second of four")
    return Shard(int(index), int(count))


def owned(names: Iterable[str], shard: Shard) -> frozenset[str]:
    """The names of a shard's own files: a stretch of all names in their order, as long as the others' or one longer."""
    ordered = sorted(set(names))
    start, stop = (len(ordered) * place // shard.of for place in (shard.number - 1, shard.number))
    return frozenset(ordered[start:stop])


class Part(NamedTuple):
    """The files that a shard tells of, `own`, and those of the others, by name."""

    shard: Shard
    own: frozenset[str]
    others: frozenset[str]

    def tells(self, name: str) -> bool:
        """Whether what goes by a name is for this shard to tell; what is no file of any shard is for the first."""
        return name in self.own or (self.shard.number == 1 and name not in self.others)

    def absolute(self) -> Part:
        """The same part, whose files go by their absolute paths."""
        own, others = (frozenset(map(os.path.abspath, names)) for names in (self.own, self.others))
        return Part(self.shard, own, others)


def part_of(names: Iterable[str], shard: Shard) -> Part:
    """The part of a shard in all files."""
    names = frozenset(names)
    own = owned(names, shard)
    return Part(shard, own, names - own)


def leading(pieces: Sequence[Piece], own: Collection[Path]) -> list[bool]:
    """For each piece of a project whether something can be found in it in one of the paths `own`.

    That is where a piece has one of them, or a file whose imports, told by the texts alone, lead to one of them.
    """
    own = frozenset(own)
    if not pieces or not own:
        return [False] * len(pieces)
    project = Project((), read_utf8, common=pieces[0].common)
    importers = Importers(project, own)
    return [_has(piece, own) or any(map(importers.lead, _of_interest(piece, project))) for piece in pieces]


def _has(piece: Piece, own: Collection[Path]) -> bool:
    return any(path in own for _, path in piece.files)


def _of_interest(piece: Piece, project: Project) -> Iterable[Path]:
    """The files of a piece from which rules start out; a notebook's imports are within its JSON, so it always leads."""
    return (path for _, path in piece.files if concerns(project.text(path) or ""))
