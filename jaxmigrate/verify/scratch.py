"""A copy of the project for one run, so that runs never see each other's files and the user's tree is never written.

Sources and small files are copied, large data files are linked: the recorder gives the program its own copy of one
that it opens for writing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jaxmigrate.verify.model import VerifyError

LINK_FROM = 16 << 20
COPY_AT_MOST = 1 << 30
SMALL = 64 << 10

SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".eggs",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        "__pycache__",
    }
)


@dataclass
class Copied:
    """What became of a tree: the bytes that were copied, and the files that are links to the original ones."""

    bytes: int = 0
    links: list[Path] = field(default_factory=list)


def copy_tree(root: Path, copy: Path, overlay: Mapping[str, bytes]) -> Copied:
    """Copy the project at `root` to the new folder `copy` and put the files of `overlay` in their places."""
    copied = Copied()
    _copy_folder(root, copy, root, copy, copied)
    for name, text in overlay.items():
        _put(copy, name, text)
    return copied


def _copy_folder(source: Path, target: Path, root: Path, copy: Path, copied: Copied) -> None:
    target.mkdir()
    for entry in _entries(source):
        place = target / entry.name
        if entry.is_symlink():
            place.symlink_to(_retarget(entry, root, copy))
        elif entry.is_dir():
            if _is_environment(Path(entry.path)):
                place.symlink_to(entry.path)
            elif entry.name not in SKIPPED:
                _copy_folder(Path(entry.path), place, root, copy, copied)
        elif entry.is_file():
            _copy_file(entry, place, copied)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(entries, key=lambda entry: entry.name)
    except PermissionError:
        return


def _retarget(entry: os.DirEntry[str], root: Path, copy: Path) -> str:
    """Where a copied link must point: links within the project stay within the copy."""
    target = os.readlink(entry.path)
    if not os.path.isabs(target):
        resolved = os.path.normpath(os.path.join(os.path.dirname(entry.path), target))
        return target if is_below(resolved, root) else resolved
    return str(copy) + target[len(str(root)) :] if is_below(target, root) else target


def is_below(path: str, root: Path) -> bool:
    """Whether an absolute path is the folder or lies in it."""
    return path == str(root) or path.startswith(f"{root}{os.sep}")


def _is_environment(folder: Path) -> bool:
    """Whether the folder is a virtual or conda environment or a module store: large, and never the program itself."""
    return folder.name == "node_modules" or (folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir()


def _copy_file(entry: os.DirEntry[str], place: Path, copied: Copied) -> None:
    size = entry.stat().st_size
    is_source = entry.name.endswith((".py", ".pyi", ".ipynb", ".toml", ".cfg", ".json", ".yaml", ".yml"))
    if not is_source and (size >= LINK_FROM or (size > SMALL and copied.bytes + size > COPY_AT_MOST)):
        place.symlink_to(entry.path)
        copied.links.append(place)
        return
    try:
        shutil.copy2(entry.path, place)
    except PermissionError:
        return
    copied.bytes += size


def _put(copy: Path, name: str, text: bytes) -> None:
    place = copy / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.parent.resolve().is_relative_to(copy.resolve()):
        raise VerifyError(
            f"{name} is reached through a symlink that leads out of the project; verify the folder that it leads to"
        )
    if place.is_symlink():
        place.unlink()
    place.write_bytes(text)
