"""The files of a program as they were before its migration, from another folder or from a git revision."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.commands import Failure
from jaxmigrate.commands.planning import PlannedFile, plan_files
from jaxmigrate.commands.scope import located
from jaxmigrate.config import LAYOUTS
from jaxmigrate.lint.linting import place
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.program.declarations import NOTHING_DECLARED, Declarations
from jaxmigrate.sources import NOTEBOOK, SourceError, SourceFile, decode, read_source
from jaxmigrate.verify.scratch import SKIPPED

# What decides how a program runs; data is the same for both sides, and may be large.
_PROGRAM = (".py", NOTEBOOK)
_SOURCES = (*_PROGRAM, ".pyi", ".toml", ".cfg", ".ini", ".json", ".yaml", ".yml", ".gin")
_LARGEST = 4 << 20


@dataclass(frozen=True)
class Origin:
    """What a migrated program was before.

    Attributes:
        planned: The original's files, with what `fix` would make of them.
        by_hand: Whether what was made of them is anything else.
        others: Files that are no part of the plan and differ from, or lack among, the migrated ones; by path below
            the migrated folder.
    """

    planned: list[PlannedFile]
    by_hand: bool
    others: Mapping[str, bytes]


def find_original(
    path: str,
    original: str,
    migrated: Sequence[SourceFile],
    beside: Mapping[Path, str] | None = None,
    declared: Declarations = NOTHING_DECLARED,
) -> Origin:
    """Reads the original, plans its migration, and sees whether the files under `path` are what comes of that.

    Args:
        path: The migrated file or folder, as the user named it.
        original: A folder, a file, or a git revision.
        migrated: The files under `path`.
        beside: The texts of the project's other files.
        declared: What the project declares.

    Raises:
        Failure: There is no such original, or it holds nothing of the program.
        SourceError: A file of the original cannot be read.
    """
    top = located(Path(path))
    inside = {_inside(source, top): source for source in migrated}
    found = _in_folder(Path(original), top) if Path(original).exists() else _in_git(original, top)
    if not any(name in inside or name.endswith(_PROGRAM) for name in found):
        raise Failure(f"{original} has none of the files of {path}")
    sources = [
        _named_like(inside[name], raw) if name in inside else _named_below(top, name, raw)
        for name, raw in found.items()
        if name.endswith(_PROGRAM)
    ]
    for layout in LAYOUTS:
        planned, errors = plan_files(sources, PlanOptions(layout, declared=declared, marks=True), beside)
        if errors:
            raise errors[0]
        if not any(_is_changed(file, inside, top) for file in planned):
            return Origin([file for file in planned if _inside(file.source, top) in inside], by_hand=False, others={})
    of_part = _as_part(original, top, sources, inside, beside or {}, declared) if top.is_file() else []
    return Origin(of_part or planned, by_hand=not of_part, others={} if of_part else _others(found, top))


def _as_part(
    original: str,
    top: Path,
    sources: Sequence[SourceFile],
    inside: Mapping[str, SourceFile],
    beside: Mapping[Path, str],
    declared: Declarations,
) -> list[PlannedFile]:
    """The plan of one file of a project that was migrated as a whole; empty where that is not what it has become."""
    folder = Path(original).parent if Path(original).is_file() else Path(original)
    found = _in_folder(folder, top.parent) if folder.exists() else _in_git(original, top.parent)
    others = []
    for name, raw in found.items():
        if name.endswith(_PROGRAM) and name != top.name and b"pmap" in raw:
            with contextlib.suppress(SourceError):
                others.append(_named_below(top.parent, name, raw))
    apart = {place(source) for source in others}
    rest = {path: text for path, text in beside.items() if path not in apart}
    for layout in LAYOUTS if others else ():
        planned, _ = plan_files([*sources, *others], PlanOptions(layout, declared=declared, marks=True), rest)
        own = [file for file in planned if located(Path(file.source.name)) == top]
        if own and not any(_is_changed(file, inside, top) for file in own):
            return own
    return []


def _is_changed(file: PlannedFile, migrated: Mapping[str, SourceFile], top: Path) -> bool:
    source = migrated.get(_inside(file.source, top))
    if source is None:
        return file.plan.changed
    return file.after != source.raw


def _others(found: Mapping[str, bytes], top: Path) -> dict[str, bytes]:
    return {name: raw for name, raw in found.items() if not name.endswith(_PROGRAM) and _content(top / name) != raw}


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _inside(source: SourceFile, top: Path) -> str:
    path = located(Path(source.name))
    return path.name if path == top else path.relative_to(top).as_posix()


def _named_like(migrated: SourceFile, raw: bytes) -> SourceFile:
    return decode(raw, migrated.name, migrated.path)


def _named_below(top: Path, name: str, raw: bytes) -> SourceFile:
    """A file that the migrated program no longer has."""
    place = top / name if top.is_dir() else top.with_name(name)
    return decode(raw, os.path.relpath(place), place)


def _in_folder(original: Path, top: Path) -> dict[str, bytes]:
    if original.is_file():
        return {top.name: read_source(original).raw}
    if top.is_file():
        return {top.name: read_source(original / top.name).raw} if (original / top.name).is_file() else {}
    return {file.relative_to(original).as_posix(): file.read_bytes() for file in _walk(original)}


def _walk(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not _is_environment(Path(here, name)))
        for name in sorted(files):
            file = Path(here, name)
            if name.endswith(_SOURCES) and file.stat().st_size <= _LARGEST:
                yield file


def _is_environment(folder: Path) -> bool:
    return folder.name == "node_modules" or (folder / "pyvenv.cfg").is_file()


def _in_git(revision: str, top: Path) -> dict[str, bytes]:
    folder, what = (top, ".") if top.is_dir() else (top.parent, top.name)
    command = ["git", "-C", str(folder), "archive", "--format=tar", revision, "--", what]
    try:
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise Failure(
            f"{revision} is not a folder, and git is not installed, so it cannot be looked up as a revision"
        ) from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        raise Failure(
            f"{revision} is neither a folder nor a git revision: {said[-1] if said else 'git failed'}"
        ) from None
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        kept = [m for m in members if m.isfile() and m.name.endswith(_SOURCES) and m.size <= _LARGEST]
        files = {member.name.removeprefix("./"): members.extractfile(member) for member in kept}
        return {name: file.read() for name, file in files.items() if file is not None}
