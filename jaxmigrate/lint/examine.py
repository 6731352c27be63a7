"""Looks at a piece of a project: which of its files can matter, and what the rules find in these."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from jaxmigrate.config import Version
from jaxmigrate.findings import Finding
from jaxmigrate.findings.suppressions import Mark, marks_of
from jaxmigrate.lint.cache import UNCHANGED, Cache, Disk, Examined
from jaxmigrate.lint.work_units import Piece
from jaxmigrate.program.declarations import NOTHING_DECLARED, Declarations
from jaxmigrate.program.old_mentions import mentions
from jaxmigrate.program.old_names import Era
from jaxmigrate.program.words import MAPS
from jaxmigrate.sources import NOTEBOOK, SourceError, SourceFile, decode
from jaxmigrate.sources.decoding import os_reason

if TYPE_CHECKING:
    from jaxmigrate.program.modules import Module, Project

LIBRARIES = ("jax", "flax", "haiku", "equinox")
HOSTS = (
    "process_index",
    "host_id",
    "PartitionSpec",
    "make_mesh",
    "Mesh(",
    "donate_arg",
    "in_shardings",
    "FlaxStableDiffusion",
    "jax_utils",
    "unreplicate",
)
WITHIN_MAPS = ("psum", "pmean", "all_gather", "ppermute", "axis_name", "axis_index", "cross_replica_axis")
SUBJECTS = (*MAPS, *HOSTS, *WITHIN_MAPS)
MARKED = "jaxmigrate:"
FAILED = "jaxmigrate failed at this file"
_LIBRARIES = tuple(word.encode() for word in LIBRARIES)


@lru_cache(maxsize=1)  # for who asks again about the text at hand
def concerns(text: str) -> bool:
    """Whether a file can be of interest to a rule by itself; what it is imported for is another matter."""
    if not any(word in text for word in LIBRARIES):
        return False
    return any(word in text for word in SUBJECTS) or any(mentions(text))


def examine(
    piece: Piece,
    names: Mapping[Path, str],
    cache: Cache | None,
    changed: Mapping[Path, bytes] = UNCHANGED,
) -> Examined:
    """Looks at the files of a piece; `names` are those of the whole project's files.

    Those at the paths of `changed` are taken to have that content.
    """
    disk = Disk(cache is not None, changed)
    if cache is None:
        return _looked_at(piece, names, disk, piece.files)
    files, errors = _worth_a_look(piece, disk)
    found = cache.load(piece, files, disk) if files else Examined((), (), {})
    if found is None:
        found = _looked_at(piece, names, disk, files)
        if not any(error.message.startswith(FAILED) for error in found.errors):
            cache.store(piece, files, disk, found)
    return found._replace(errors=(*errors, *found.errors))


def _worth_a_look(piece: Piece, disk: Disk) -> tuple[list[tuple[str, Path]], list[SourceError]]:
    """The files of a piece in which there may be something, their contents noted, and those that cannot be read."""
    files: list[tuple[str, Path]] = []
    errors: list[SourceError] = []
    for name, path in piece.files:
        try:
            raw = _read(name, path, disk)
        except SourceError as error:
            errors.append(error)
            continue
        if raw is not None:
            disk.note(path, raw)
            files.append((name, path))
    return files, errors


def _looked_at(piece: Piece, names: Mapping[Path, str], disk: Disk, files: Sequence[tuple[str, Path]]) -> Examined:
    """What comes of a look at some files of a piece."""
    errors: list[SourceError] = []
    marked: dict[str, tuple[Mark, ...]] = {}
    concerned: list[SourceFile] = []
    skipped: list[SourceError] = []
    for name, path in files:
        try:
            source = _glance(name, path, disk)
        except SourceError as error:
            errors.append(error)
            continue
        if source is not None:
            skipped += _skipped(source)
            if found := marks_of(source):
                marked[name] = found
            if concerns(source.text):
                concerned.append(source)
    findings, unparsed, maps = _asked(concerned, piece, names, disk) if concerned else ([], [], 0)
    return Examined(tuple(findings), (*errors, *unparsed), marked, tuple(skipped), maps)


def _skipped(source: SourceFile) -> list[SourceError]:
    reason = source.notebook.skipped if source.notebook is not None else ""
    return [SourceError(source.name, reason)] if reason else []


def examine_text(
    source: SourceFile,
    target: Version | None = None,
    declared: Declarations = NOTHING_DECLARED,
    users: Sequence[SourceFile] = (),
    reader: Callable[[Path], str | None] | None = None,
    era: Era = "",
) -> Examined:
    """Looks at a text that is not on the disk, as if it lay where its path says; only what is found in it counts.

    `users` are files that import it; what all of them import is read by `reader`, by default from the disk.
    """
    if not (concerns(source.text) or users):
        return Examined((), (), {})
    from jaxmigrate.lint.linting import ask, in_cells, parsed, place
    from jaxmigrate.program.modules import Project

    modules, errors = parsed([source, *users])
    names = {place(source): source.name}
    project = Project(modules, reader or Disk(False).text, names, place(source).parent)
    project.reads_newer = True
    project.declared, project.era = declared, era
    findings, failed = _found(modules, lambda asked: ask(asked, project, names, target), names)
    own = [error for error in (*errors, *failed) if error.path == source.name]
    found = tuple(in_cells(findings, [source]))
    return Examined(found, tuple(own), {source.name: marks_of(source)}, tuple(_skipped(source)))


def _glance(name: str, path: Path, disk: Disk) -> SourceFile | None:
    """The file decoded if there is anything in it to look at; its bytes are checked in any case."""
    raw = _read(name, path, disk)
    if raw is None or (path.suffix == NOTEBOOK and not _is_notebook_of_interest(raw)):
        return None
    source = decode(raw, name, path)
    if not (concerns(source.text) or MARKED in source.text or _skipped(source)):
        return None
    disk.note(path, raw)
    return source


def _read(name: str, path: Path, disk: Disk) -> bytes | None:
    """The bytes of a file, None where they mention nothing to look at; they are checked in any case."""
    try:
        raw = disk.read(path)
    except OSError as error:
        raise SourceError(name, os_reason(error)) from error
    if any(word in raw for word in _LIBRARIES):  # as one is in what asks for silence
        return raw
    if path.suffix != NOTEBOOK and (not raw.isascii() or b"\0" in raw):
        decode(raw, name, path)
    return None


def _is_notebook_of_interest(raw: bytes) -> bool:
    """Whether it is worth the while to take a notebook apart: most of one are pictures, in which any word can stand."""
    from jaxmigrate.sources.notebooks import python_in

    code = python_in(raw)
    return code is None or MARKED in code or concerns(code)


def _asked(
    sources: Sequence[SourceFile], piece: Piece, names: Mapping[Path, str], disk: Disk
) -> tuple[list[Finding], list[SourceError], int]:
    """What the rules find in the files of a piece that concern them, what does not parse, and how many sites map."""
    from jaxmigrate.lint.linting import ask, in_cells, maps_in, parsed, without_collector
    from jaxmigrate.program.modules import Project

    with without_collector():
        project = Project((), disk.text, common=piece.common)
        project.reads_newer = True
        project.declared, project.era = piece.declared, piece.era
        modules, errors = parsed([source for source in sources if _can_matter(source, project)])
        project.adopt(modules)
        findings, failed = _found(modules, lambda asked: ask(asked, project, names, piece.target), names)
        errors += failed
        findings = in_cells(findings, sources)
        if disk.remembers:
            for folder, entries in project.listings.items():
                disk.note_listing(folder, entries)
        return findings, errors, maps_in(modules, project)


def _found(
    modules: Sequence[Module], ask: Callable[[Sequence[Module]], list[Finding]], names: Mapping[Path, str]
) -> tuple[list[Finding], list[SourceError]]:
    """What the rules find; where they fail, by a fault of ours, what each file by itself gives, and the failures."""
    try:
        return ask(modules), []
    except Exception:
        if os.environ.get("JAXMIGRATE_DEBUG"):
            raise
    findings: list[Finding] = []
    errors: list[SourceError] = []
    for module in modules:
        try:
            findings += ask([module])
        except Exception as error:  # noqa: BLE001 - the other files are not to suffer
            what = " ".join(f"{type(error).__name__}: {error}".split())
            told = f"{FAILED} ({what}), so it was not checked; please report it"
            errors.append(SourceError(names.get(module.path, module.path.as_posix()), told))
    return sorted(findings), errors


def _can_matter(source: SourceFile, project: Project) -> bool:
    """Whether a file maps or sets up devices, or imports what maps; else its collectives are for others to run."""
    if any(word in source.text for word in (*MAPS, *HOSTS)) or any(mentions(source.text)):
        return True
    if any(word in source.text for word in WITHIN_MAPS if word != "axis_name"):
        return True  # which may be wrong wherever it runs
    if "axis_name" in source.text and "BatchNorm" in source.text:
        return True  # which reduces by itself
    from jaxmigrate.program.imports import imported_files

    path = source.path or Path()
    nearby = imported_files(path, source.text, project)
    packages = [target for target in nearby if target.name == "__init__.py"]
    further = (imported_files(target, project.text(target) or "", project) for target in packages)
    return any(project.holds(target, MAPS) for targets in (nearby, *further) for target in targets)


def workers(files: int) -> int:
    """How many processes are worth starting for so many files."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, 1 + files // 200)
