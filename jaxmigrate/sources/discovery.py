"""Finds the files that a user means by a list of paths.

What cannot be read is collected and told, once each; it never keeps the rest from being found.
"""

from __future__ import annotations

import enum
import math
import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from jaxmigrate.records import record
from jaxmigrate.sources.decoding import SourceError, os_reason
from jaxmigrate.sources.ignored import FILE, Ignored, rules_at, rules_in

STDIN = "<stdin>"

_SKIPPED_NAMES = frozenset({"__pycache__", "__pypackages__", "build", "node_modules", "site-packages"})
_RECORDED_RUN = re.compile(r"wandb/(?:offline-)?run-\d+_\d+-\w+")  # with a copy of the code that ran
_VENV_MARKS = ("pyvenv.cfg", "conda-meta")


class Kind(enum.Enum):
    """What a file holds, told by its ending."""

    PYTHON = "python"
    STUB = "stub"
    NOTEBOOK = "notebook"
    DOCUMENTATION = "documentation"
    STDIN = "standard input"


KINDS = {".py": Kind.PYTHON, ".pyi": Kind.STUB, ".ipynb": Kind.NOTEBOOK}


DOCUMENTATION = dict.fromkeys((".md", ".markdown", ".rst", ".py"), Kind.DOCUMENTATION)


@record
class Location:
    """A file to work on: its name as the user would write it, where it lies, what it holds, and if it is a link."""

    name: str
    path: Path
    kind: Kind
    is_link: bool = False


@record
class Discovery:
    """The files found, in the order of the paths given and sorted within each, and what could not be looked at."""

    files: tuple[Location, ...]
    errors: tuple[SourceError, ...]


Excluded = Callable[[Path, Path], bool]


def _nothing(_path: Path, _below: Path) -> bool:
    return False


def discover(paths: Iterable[str], excluded: Excluded = _nothing, kinds: Mapping[str, Kind] = KINDS) -> Discovery:
    """The Python files and notebooks under some paths, each once however many ways lead to it.

    A file that is named itself is taken whatever its ending and whatever is excluded. Inside folders, hidden ones,
    virtual environments, caches, build outputs, recorded runs and what `.gitignore` files name are left out, and so are
    links to folders, which a loop could hide behind. `-` is standard input.

    Args:
        paths: Files and folders as the user named them.
        excluded: Whether a file or folder (first) that is found inside a named folder (second) is to be left out.
        kinds: What is looked for, by the ending; the first is what a named file with another ending is taken for.
    """
    files: dict[str, Location] = {}
    errors: list[SourceError] = []
    real = RealPaths()
    for path in paths:
        for found in _named(path, excluded, errors, kinds):
            files.setdefault(real.of(found), found)
    return Discovery(tuple(files.values()), tuple(errors))


class RealPaths:
    """What tells files apart that several ways lead to; asks the system about a folder once, not once a file."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def of(self, file: Location) -> str:
        """The one absolute path of a file, links resolved."""
        if file.kind is Kind.STDIN:
            return STDIN
        if file.is_link:
            return os.path.realpath(file.path)
        folder, name = os.path.split(file.path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return os.path.join(self._folders[folder], name)


def _named(path: str, excluded: Excluded, errors: list[SourceError], kinds: Mapping[str, Kind]) -> Iterator[Location]:
    if path == "-":
        yield Location(STDIN, Path("-"), Kind.STDIN)
        return
    start = Path(path)
    try:
        mode = start.stat().st_mode
    except (OSError, ValueError) as error:
        errors.append(SourceError(start.as_posix(), os_reason(error)))
        return
    if stat.S_ISDIR(mode):
        yield from sorted(inside(start, excluded, errors, kinds), key=real_first)
    elif stat.S_ISREG(mode):
        kind = kinds.get(start.suffix, next(iter(kinds.values())))
        yield Location(start.as_posix(), start, kind, start.is_symlink())
    else:
        errors.append(SourceError(start.as_posix(), "neither a file nor a folder"))


def real_first(found: Location) -> tuple[bool, str]:
    """Sorts by name, with links last, so that a file is known by its own name where it has two."""
    return found.is_link, found.name


class Bound:
    """How many more folders and files are looked at, and whether there are others.

    What stands in folders that were `entered` is known, and all that is below those that are `done`.
    """

    def __init__(self, files: float = math.inf, folders: float = math.inf) -> None:
        self.files, self.folders = files, folders
        self.entered, self.done = set[str](), set[str]()
        self.is_reached = False

    def enters(self, folder: str) -> bool:
        """Whether the files of a folder are to be looked at, which counts."""
        if folder in self.entered:
            return False
        self.folders -= 1
        self.is_reached |= self.folders < 0
        if not self.is_reached:
            self.entered.add(folder)
        return not self.is_reached

    def takes(self) -> bool:
        """Whether one more file is to be looked at, which counts."""
        self.files -= 1
        self.is_reached |= self.files < 0
        return not self.is_reached


def inside(
    start: Path, excluded: Excluded, errors: list[SourceError], kinds: Mapping[str, Kind], bound: Bound | None = None
) -> Iterator[Location]:
    """The files in a folder, as `discover` says; the nearest first where there is a bound."""
    bound = bound or Bound()
    waiting = deque([(start, rules_at(start.absolute()))])
    while waiting:
        folder, above = waiting.popleft()
        absolute = os.path.abspath(folder)
        if absolute in bound.done:
            continue
        is_new = bound.enters(absolute)
        if bound.is_reached:
            return
        entries = _entries(folder, errors)
        has_rules = any(entry.name == FILE for entry in entries)
        rules = rules_in(folder.absolute(), above) if has_rules else above

        def left_out(path: Path, is_folder: bool, rules: Ignored | None = rules, absolute: str = absolute) -> bool:
            if rules is not None and rules.covers(f"{absolute}/{path.name}", is_folder):
                return True
            return excluded(path, start)

        for entry in entries:
            suffix = os.path.splitext(entry.name)[1]
            if entry.is_dir(follow_symlinks=False):
                path = folder / entry.name
                if not _skipped(path) and not left_out(path, True):
                    waiting.append((path, rules))
            elif is_new and suffix in kinds and _is_file(entry):
                path = folder / entry.name
                if not left_out(path, False):
                    if not bound.takes():
                        return
                    yield Location(path.as_posix(), path, kinds[suffix], entry.is_symlink())


def _entries(folder: Path, errors: list[SourceError]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        errors.append(SourceError(folder.as_posix(), os_reason(error)))
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _skipped(folder: Path) -> bool:
    name = folder.name
    if name.startswith(".") or name in _SKIPPED_NAMES:
        return True
    if _RECORDED_RUN.fullmatch(f"{folder.parent.name}/{name}"):
        return True
    return any((folder / mark).exists() for mark in _VENV_MARKS)
