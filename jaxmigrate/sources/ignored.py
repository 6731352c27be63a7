"""What a repository's `.gitignore` files leave out, so that nobody has to say so again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.records import record
from jaxmigrate.sources.patterns import expression

FILE = ".gitignore"


class _Rule(NamedTuple):
    """Patterns of one file that stand together: what they match is ignored, or is not after all if `kept`."""

    kept: bool
    folders_only: bool
    pattern: re.Pattern[str]


@record
class Ignored:
    """The rules that hold in a folder: those of its own file after those of the folders above."""

    above: Ignored | None
    folder: str
    rules: tuple[_Rule, ...]

    def covers(self, path: str, is_folder: bool) -> bool:
        """Whether a path in the folder or below is left out; the last pattern that fits decides, nearest file first."""
        inside = path[len(self.folder) + 1 :] if self.folder else path
        for rule in reversed(self.rules):
            if (is_folder or not rule.folders_only) and rule.pattern.match(inside):
                return not rule.kept
        return self.above is not None and self.above.covers(path, is_folder)


def rules_at(start: Path) -> Ignored | None:
    """The rules that the repository around a folder has for it, those of the folder's own file left out."""
    found: Ignored | None = None
    for folder in _up_to_repository(start):
        found = rules_in(folder, found)
    return found


def rules_in(folder: Path, above: Ignored | None) -> Ignored | None:
    """The rules that hold in a folder, `above` those of the folder that it lies in."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return above
    rules = tuple(_rules(text))
    return Ignored(above, folder.as_posix(), rules) if rules else above


def _up_to_repository(start: Path) -> list[Path]:
    """The folders above, from the one that holds `.git` downward; none where there is no repository."""
    for number, folder in enumerate(start.parents):
        if (start / ".git").exists():
            return []
        if (folder / ".git").exists():
            return list(reversed(start.parents[: number + 1]))
    return []


def _rules(text: str) -> Iterator[_Rule]:
    lines = [line.rstrip() for line in text.splitlines()]
    meant = [line for line in lines if line and not line.startswith("#")]
    for (kept, folders_only), patterns in groupby(meant, lambda line: (line.startswith("!"), line.endswith("/"))):
        alternatives = [expression(pattern.removeprefix("!").removeprefix("\\")) for pattern in patterns]
        try:
            yield _Rule(kept, folders_only, re.compile("|".join(f"(?:{one})" for one in alternatives), re.DOTALL))
        except re.error:
            continue
