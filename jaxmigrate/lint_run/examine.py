"""Looks at a piece of a project: which of its files can matter, and what the rules find in these."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxmigrate.config import Version
from jaxmigrate.findings import Finding
from jaxmigrate.lint_run.cache import Cache, Disk, Record
from jaxmigrate.lint_run.pieces import Piece
from jaxmigrate.program.old_mentions import mentions
from jaxmigrate.sources import NOTEBOOK, SourceError, SourceFile, decode
from jaxmigrate.sources.decoding import os_reason
from jaxmigrate.suppressions import Mark, marks_of

if TYPE_CHECKING:
    from jaxmigrate.program.modules import Project

LIBRARIES = ("jax", "flax", "haiku", "equinox")
MAPS = ("pmap", "shard_map", "smap", "xmap")
HOSTS = ("process_index", "host_id", "PartitionSpec", "make_mesh", "Mesh(", "donate_arg")
WITHIN_MAPS = ("psum", "pmean", "all_gather", "axis_name", "axis_index", "cross_replica_axis")
SUBJECTS = (*MAPS, *HOSTS, *WITHIN_MAPS)
MARKED = "jaxmigrate:"
_LIBRARIES = tuple(word.encode() for word in LIBRARIES)


class Examined(NamedTuple):
    """What came out of some files.

    Attributes:
        findings: What every rule found, whether it is wanted or not, also in files of other pieces.
        errors: Files that could not be read, decoded or parsed.
        marks: The comments that ask for silence, by file name.
        skipped: Notebooks in other languages, with the reason.
    """

    findings: tuple[Finding, ...]
    errors: tuple[SourceError, ...]
    marks: Mapping[str, tuple[Mark, ...]]
    skipped: tuple[SourceError, ...] = ()


def concerns(text: str) -> bool:
    """Whether a file can be of interest to a rule by itself; what it is imported for is another matter."""
    if not any(word in text for word in LIBRARIES):
        return False
    return any(word in text for word in SUBJECTS) or any(mentions(text))


def examine(piece: Piece, names: Mapping[Path, str], cache: Cache | None) -> Examined:
    """Looks at the files of a piece; `names` are those of the whole project's files."""
    disk = Disk(cache is not None)
    errors: list[SourceError] = []
    marked: dict[str, tuple[Mark, ...]] = {}
    concerned: list[SourceFile] = []
    skipped: list[SourceError] = []
    for name, path in piece.files:
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
    record = _linted(concerned, piece, names, disk, cache) if concerned else Record((), ())
    return Examined(record.findings, (*errors, *record.errors), marked, tuple(skipped))


def _skipped(source: SourceFile) -> list[SourceError]:
    reason = source.notebook.skipped if source.notebook is not None else ""
    return [SourceError(source.name, reason)] if reason else []


def examine_text(source: SourceFile, target: Version | None = None) -> Examined:
    """Looks at a text that is not on the disk, as if it lay where its path says."""
    if not concerns(source.text):
        return Examined((), (), {})
    from jaxmigrate.linting import ask, in_cells, parsed, place
    from jaxmigrate.program.modules import Project

    modules, errors = parsed([source])
    project = Project(modules, Disk(False).text, [place(source)], place(source).parent)
    findings = in_cells(ask(modules, project, {place(source): source.name}, target), [source])
    return Examined(tuple(findings), tuple(errors), {source.name: marks_of(source)}, tuple(_skipped(source)))


def _glance(name: str, path: Path, disk: Disk) -> SourceFile | None:
    """The file decoded if there is anything in it to look at; its bytes are checked in any case."""
    try:
        with open(path, "rb", buffering=0) as stream:
            raw = stream.read()
    except OSError as error:
        raise SourceError(name, os_reason(error)) from error
    if not any(word in raw for word in _LIBRARIES) and MARKED.encode() not in raw:
        if path.suffix != NOTEBOOK and (not raw.isascii() or b"\0" in raw):
            decode(raw, name, path)
        return None
    if path.suffix == NOTEBOOK and not _is_notebook_of_interest(raw):
        return None
    source = decode(raw, name, path)
    if not (concerns(source.text) or MARKED in source.text or _skipped(source)):
        return None
    disk.note(path, raw)
    return source


def _is_notebook_of_interest(raw: bytes) -> bool:
    """Whether it is worth the while to take a notebook apart: most of one are pictures, in which any word can stand."""
    from jaxmigrate.sources.notebooks import python_in

    code = python_in(raw)
    return code is None or MARKED in code or concerns(code)


def _linted(
    sources: Sequence[SourceFile], piece: Piece, names: Mapping[Path, str], disk: Disk, cache: Cache | None
) -> Record:
    paths = [(source.name, source.path or Path()) for source in sources]
    if cache is not None and (known := cache.load(piece, paths, disk)) is not None:
        return known
    record = _asked(sources, piece, names, disk)
    if cache is not None:
        cache.store(piece, paths, disk, record)
    return record


def _asked(sources: Sequence[SourceFile], piece: Piece, names: Mapping[Path, str], disk: Disk) -> Record:
    from jaxmigrate.linting import ask, in_cells, parsed, without_collector
    from jaxmigrate.program.modules import Project

    with without_collector():
        project = Project((), disk.text, common=piece.common)
        modules, errors = parsed([source for source in sources if _can_matter(source, project)])
        project.adopt(modules)
        findings = in_cells(ask(modules, project, names, piece.target), sources)
        if disk.remembers:
            for folder, entries in project.listings.items():
                disk.note_listing(folder, entries)
    return Record(tuple(findings), tuple(errors))


def _can_matter(source: SourceFile, project: Project) -> bool:
    """Whether a file maps or sets up devices, or imports what maps; else its collectives are for others to run."""
    if any(word in source.text for word in (*MAPS, *HOSTS)) or any(mentions(source.text)):
        return True
    from jaxmigrate.program.imports import imported_files

    path = source.path or Path()
    nearby = imported_files(path, source.text, project)
    texts = [(target, project.text(target) or "") for target in nearby]
    for target, text in [one for one in texts if one[0].name == "__init__.py"]:
        texts += [(further, project.text(further) or "") for further in imported_files(target, text, project)]
    return any(word in text for _, text in texts for word in MAPS)


def workers(files: int) -> int:
    """How many processes are worth starting for so many files."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, 1 + files // 200)
