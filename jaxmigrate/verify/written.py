"""The files that a program has written in its copy of the project, put aside before the next run, and compared."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from jaxmigrate.verify.texts import difference

# Bytes of a run's files that are compared.
MOST_BYTES = 512 << 20
_SKIPPED = frozenset({"__pycache__", ".git", ".pytest_cache", ".ipynb_checkpoints", ".jax_cache"})
# What logs of events hold beside numbers is when and where they were written.
_NOT_COMPARED = re.compile(r"\.pyc$|tfevents|\.lock$|(^|/)core\.\d+$")
# Names that are another one in every run: dates, process numbers.
_VOLATILE = re.compile(r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[-_.T]?\d\d[-_.:]?\d\d[-_.:]?\d*)?|\d{6,}")
_ARRAYS = (".npy", ".npz", ".pkl", ".pickle")

Stamps = Mapping[str, tuple[int, int]]


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """When each file below a folder was last written, and how large it is."""
    found = {}
    for name, entry in _files(folder, ""):
        status = entry.stat()
        found[name] = (status.st_mtime_ns, status.st_size)
    return found


def _files(folder: Path | str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if entry.name not in _SKIPPED:
                    yield from _files(entry.path, f"{prefix}{entry.name}/")
            elif entry.is_file():
                yield f"{prefix}{entry.name}", entry


def put_aside(folder: Path, before: Stamps, place: Path) -> None:
    """Move the files that are new or other ones since `before` to another folder."""
    left = MOST_BYTES
    for name, stamp in stamps(folder).items():
        if before.get(name) == stamp or _NOT_COMPARED.search(name) or stamp[1] > left:
            continue
        left -= stamp[1]
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            shutil.move(folder / name, target)


def files_difference(ours: Path, theirs: Path, again: Path | None, python: str, boot: Path, *, rounded: bool) -> str:
    """What the first file is, and in which way, that the rewritten program has not written as the original has.

    `again` are the files of another run of the original; `rounded` says that the programs are not bitwise equal.
    """
    sides = [_by_steady_name(folder) for folder in (ours, theirs)]
    third = _by_steady_name(again) if again is not None else None
    for name, path in sides[0].items():
        other = sides[1].get(name)
        if other is None:
            if third is None or name in third:
                return f"{path.relative_to(ours)} is written by the original only"
            continue
        told = _difference(path, other, third.get(name) if third is not None else None, python, boot, rounded=rounded)
        if told:
            return f"{path.relative_to(ours)}: {told}"
    return ""


def written_more(ours: Path, theirs: Path) -> list[str]:
    """The files that the rewritten program writes and the original does not, by their places in the project."""
    known = _by_steady_name(ours)
    return [str(path.relative_to(theirs)) for name, path in _by_steady_name(theirs).items() if name not in known]


def _by_steady_name(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name, entry in _files(folder, ""):
        steady = _VOLATILE.sub("#", name)
        while steady in found:
            steady += "'"
        found[steady] = Path(entry.path)
    return found


def _difference(path: Path, other: Path, third: Path | None, python: str, boot: Path, *, rounded: bool) -> str:
    one, two = path.read_bytes(), other.read_bytes()
    three = third.read_bytes() if third is not None else None
    if one == two:
        return ""
    if path.suffix in _ARRAYS:
        told = _arrays_difference(path, other, third, python, boot)
        if told is not None:
            return told
    texts = [_text(data) for data in (one, two)]
    if texts[0] is not None and texts[1] is not None:
        again = _text(three) if three is not None else None
        found = difference(
            texts[0].splitlines(),
            texts[1].splitlines(),
            again.splitlines() if again is not None else None,
            rounded=rounded,
        )
        return str(found) if found is not None else ""
    # Of other formats it is known that they differ, and not by how much.
    if rounded or (three is not None and three != one):
        return ""
    return f"{len(one)} bytes in the original, {len(two)} in the rewritten program, which differ"


def _text(data: bytes) -> str | None:
    if b"\0" in data[: 1 << 16]:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _arrays_difference(path: Path, other: Path, third: Path | None, python: str, boot: Path) -> str | None:
    """How the arrays in files differ, by the program's own interpreter; None if it cannot read them."""
    environment = {**os.environ, "PYTHONPATH": str(boot)}
    environment.pop("JAXMIGRATE_VERIFY", None)
    question = [str(path), str(other), str(third) if third is not None else ""]
    answer = subprocess.run(
        [python, "-m", "jaxmigrate_child.files", *question],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        return None
    told: str | None = json.loads(answer.stdout)
    return told
