"""What came out of a piece, kept under digests of all that it depends on.

A record names every file that was read and every folder that was searched on the way, with a digest of what was there;
it holds as long as all of them are as they were. Times and sizes are not trusted: a check-out or an archive restores
those. A cache that cannot be read or written is as good as none, and never an error.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.findings import Finding, finding_from_json
from jaxmigrate.findings.suppressions import Mark
from jaxmigrate.lint.work_units import Piece
from jaxmigrate.sources import SourceError

FOLDER = ".jaxmigrate_cache"
UNCHANGED: Mapping[Path, bytes] = {}


class Examined(NamedTuple):
    """What came out of some files.

    Attributes:
        findings: What every rule found, whether it is wanted or not, also in files of other pieces.
        errors: Files that could not be read, decoded or parsed.
        marks: The comments that ask for silence, by file name.
        skipped: Notebooks in other languages, with the reason.
        maps: How many sites of pmap they have.
    """

    findings: tuple[Finding, ...]
    errors: tuple[SourceError, ...]
    marks: Mapping[str, tuple[Mark, ...]]
    skipped: tuple[SourceError, ...] = ()
    maps: int = 0


class Disk:
    """What was read from the disk for one piece, with digests; `None` where there was nothing to read.

    The files at the paths of `changed` count as if they had been written with that content.
    """

    def __init__(self, remembers: bool = True, changed: Mapping[Path, bytes] = UNCHANGED) -> None:
        self.remembers = remembers
        self._changed = changed
        self.digests: dict[Path, str | None] = {}
        self.listings: dict[str, str] = {}

    def note(self, path: Path, raw: bytes | None) -> None:
        """Remembers the content that was seen at a path."""
        if self.remembers:
            self.digests[path] = None if raw is None else _digest(raw)

    def note_listing(self, folder: str, entries: Iterable[str]) -> None:
        """Remembers what a folder had in it, as far as an import could tell."""
        importable = sorted(e for e in entries if e.endswith(".py") or "." not in e[1:])
        self.listings[folder] = _digest("\0".join(e for e in importable if e not in _BYWORK).encode())

    def read(self, path: Path) -> bytes:
        """The content at a path.

        Raises:
            OSError: It cannot be read.
        """
        if path in self._changed:
            return self._changed[path]
        with open(path, "rb", buffering=0) as stream:
            return stream.read()

    def _content(self, path: Path) -> bytes | None:
        try:
            return self.read(path)
        except OSError:
            return None

    def text(self, path: Path) -> str | None:
        """The text of a module that is imported, None where it cannot be read as Python."""
        raw = self._content(path)
        self.note(path, raw)
        try:
            return None if raw is None else raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    def digest(self, path: Path) -> str | None:
        """The digest of what is at a path now."""
        if path not in self.digests:
            self.note(path, self._content(path))
        return self.digests[path]

    def listing(self, folder: str) -> str:
        """The digest of what is in a folder now."""
        if folder not in self.listings:
            entries: list[str] = []
            with contextlib.suppress(OSError):
                entries = os.listdir(folder or "/")
            self.note_listing(folder, entries)
        return self.listings[folder]


_BYWORK = frozenset({"__pycache__", FOLDER, ".git", ".mypy_cache", ".ruff_cache", ".pytest_cache"})


class Cache:
    """Records in a folder, one file for each piece."""

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER / fingerprint()

    def prepare(self) -> Cache | None:
        """Makes the folder, empties it of what other versions left, and hides it from version control."""
        try:
            if not self.folder.is_dir():
                self._forget_others()
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.folder.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        except OSError:
            return None
        return self

    def load(self, piece: Piece, files: Sequence[tuple[str, Path]], disk: Disk) -> Examined | None:
        """What came out of a piece if its files, `files` among them worth a look, are all as they were."""
        import json

        try:
            known = json.loads(self._place(piece).read_bytes())
            if known["files"] != _listed(files, disk):
                return None
            if any(disk.digest(Path(path)) != digest for path, digest in known["reads"].items()):
                return None
            if any(disk.listing(path) != digest for path, digest in known["listings"].items()):
                return None
            return Examined(
                tuple(finding_from_json(found) for found in known["findings"]),
                tuple(SourceError(**error) for error in known["errors"]),
                {
                    name: tuple(Mark(n, tuple(c), cell) for n, c, cell in found)
                    for name, found in known["marks"].items()
                },
                tuple(SourceError(**error) for error in known["skipped"]),
                known["maps"],
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def store(self, piece: Piece, files: Sequence[tuple[str, Path]], disk: Disk, examined: Examined) -> None:
        """Keeps a record; in place of the file at once, since other processes may be reading it."""
        import json

        content = {
            "files": _listed(files, disk),
            "reads": {str(path): digest for path, digest in disk.digests.items()},
            "listings": disk.listings,
            "findings": [finding.to_json() for finding in examined.findings],
            "errors": [error.to_json() for error in examined.errors],
            "marks": dict(examined.marks),
            "skipped": [error.to_json() for error in examined.skipped],
            "maps": examined.maps,
        }
        place = self._place(piece)
        mine = place.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            mine.write_text(json.dumps(content), encoding="utf-8")
            os.replace(mine, place)

    def _place(self, piece: Piece) -> Path:
        paths = "\0".join(f"{name}\0{path}" for name, path in piece.files)
        given = f"{piece.common}{piece.target}{piece.era}{piece.declared}{paths}"
        return self.folder / f"{_digest(given.encode())}.json"

    def _forget_others(self) -> None:
        for other in self.folder.parent.iterdir() if self.folder.parent.is_dir() else ():
            if other.is_dir():
                for record in other.iterdir():
                    record.unlink()
                other.rmdir()


def fingerprint() -> str:
    """What tells one version of jaxmigrate and Python from another, in development too: the stamps of its own files."""
    import jaxmigrate.rules

    stamps = [sys.version]
    for top in (*jaxmigrate.__path__, *jaxmigrate.rules.__path__):
        for folder, below, files in os.walk(top):
            below[:] = sorted(name for name in below if name != "__pycache__")
            for name in sorted(files):
                if name.endswith((".py", ".csv", ".txt")) and name not in ("bad.py", "good.py"):
                    stat = os.stat(os.path.join(folder, name))
                    stamps.append(f"{name} {stat.st_size} {stat.st_mtime_ns}")
    return _digest("\0".join(stamps).encode())


def _listed(files: Iterable[tuple[str, Path]], disk: Disk) -> list[list[str | None]]:
    return [[name, str(path), disk.digest(path)] for name, path in files]


def _digest(raw: bytes) -> str:
    import hashlib

    return hashlib.blake2b(raw, digest_size=16).hexdigest()
