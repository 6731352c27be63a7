"""The files around some others, the nearest first: a folder that is no project may hold a whole computer's."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.sources.decoding import SourceError
from jaxmigrate.sources.discovery import KINDS, Bound, Excluded, Location, inside, real_first

MOST_FILES, MOST_FOLDERS = 2000, 5000  # looked at within a second or two


class Nearest(NamedTuple):
    """The files found, those that are known by their own name first, and whether there are more."""

    files: list[Location]
    are_all: bool


def nearest(root: Path, given: Collection[Path], excluded: Excluded) -> Nearest:
    """The files below a folder, where there are not too many; else those nearest to some folders in it.

    These are all that stand in such a folder, or in the package that it is part of, or beside that; and then others,
    by the way that leads up from there.
    """
    errors: list[SourceError] = []  # of folders that cannot be read, which take no part
    bound = Bound(MOST_FILES, MOST_FOLDERS)
    found = list(inside(root, excluded, errors, KINDS, bound))
    if bound.is_reached:
        found = _by_way(root, sorted({folder.absolute() for folder in given}), excluded)
    return Nearest(sorted(found, key=real_first), not bound.is_reached)


def _by_way(root: Path, given: Collection[Path], excluded: Excluded) -> list[Location]:
    found, bound = list[Location](), Bound()

    def look(folder: Path, files: float = math.inf, folders: float = math.inf) -> None:
        bound.files, bound.folders = files, folders
        found.extend(inside(folder, excluded, [], KINDS, bound))

    for folder in given:
        top = _above_packages(folder)
        if top != folder:
            look(package := top / folder.relative_to(top).parts[0])
            bound.done.add(str(package))
        for one in (folder, top):
            look(one, folders=1)
            bound.is_reached = False
    level, bound.files, bound.folders = {*given}, MOST_FILES, MOST_FOLDERS
    while level and not bound.is_reached:
        for folder in sorted(level):
            look(folder, bound.files, bound.folders)
            bound.done.add(str(folder))
        level = {folder.parent for folder in level if root in folder.parents}
    return found


def _above_packages(folder: Path) -> Path:
    """The folder that holds the package of which one is part; itself where it is part of none."""
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder
