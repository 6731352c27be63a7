"""Which releases of JAX, and of what must run beside it, a project says it works with."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from jaxmigrate.config import Config
from jaxmigrate.program.least_releases import JAX, PYTHON
from jaxmigrate.program.old_names import TURN, Era, Release, release
from jaxmigrate.requirement_lines import COMMANDS, FILES, MORE, Requirement, asked, dotted, installed, text_of

OLDEST: Release = (0, 6, 1)
LOWER = (">=", "==", "~=", ">")
LOCKS = {"poetry.lock": "poetry lock", "uv.lock": "uv lock", "pdm.lock": "pdm lock", "Pipfile.lock": "pipenv lock"}
_LOCKED = re.compile(r'name = "jax"\s*\nversion = "([\d.]+)|"jax": \{[^}]*?"version": "==([\d.]+)')


def project_folder(start: Path) -> Path:
    """The nearest folder upward of a file or folder that says what it requires; its own where none does."""
    folder = start.absolute() if start.is_dir() else start.absolute().parent
    return _saying(folder) or folder


def project_of(config: Config, paths: Iterable[Path]) -> Path:
    """The project that files are of: the folder with the configuration, else what says so, around all or the first."""
    if config.file is not None:
        return config.root
    files = [path.absolute() for path in paths]
    if not files:
        return project_folder(Path.cwd())
    common = Path(os.path.commonpath([file.parent for file in files]))
    return _saying(common) or _saying(files[0].parent) or common


def _saying(folder: Path) -> Path | None:
    """The nearest folder upward that says what it requires."""
    for candidate in (folder, *folder.parents):
        if any((candidate / name).is_file() for name in FILES) or _files(candidate, MORE):
            return candidate
        if (candidate / ".git").exists():
            return None
    return None


def target_jax(config: Config, root: Path, told: Release | None = None) -> Release | None:
    """The release that a project must run on: as told or configured, else the oldest that it says it works with."""
    return told or config.target_jax or required_jax(root)


def required_jax(root: Path) -> Release | None:
    """The lower bound that a project's files set for `jax`; None without one, or where it is below 0.6.1.

    0.6.1 is the first release that has what is written, so that a project which asks for less has to ask for more.
    """
    lower = [release for how, release in _bounds(root) if how in LOWER]
    return min(lower) if lower and min(lower) >= OLDEST else None


def written_for(root: Path) -> Era:
    """Whether a project asks for releases before 0.6 only, or since 0.6 only; empty where it says neither."""
    bounds = list(_bounds(root))
    lower = [bound for how, bound in bounds if how in LOWER]
    upper = [bound for how, bound in bounds if how in ("<", "<=", "==", "~=")]
    if lower and min(lower) >= TURN:
        return "new"
    return "old" if upper and max(upper) <= TURN else ""


def pins(root: Path, raised: Collection[str] = (), changed: Collection[Path] = ()) -> Iterator[str]:
    """Each requirement of a project that some release without `jax.shard_map` meets, or only such, in words.

    What does not run beside newer ones follows, a sentence for each file, and what lock files have. `raised` are files
    whose requirements are raised, `changed` those that are rewritten.
    """
    oldest = dotted(OLDEST)
    beside: dict[str, list[Requirement]] = {}
    for one in requirements(root, changed):
        if one.file in raised and not one.fixed:
            continue
        where = f"{one.file}:{one.line}"
        needs = f"but rewritten code needs jax {oldest} or newer{f' ({one.fixed})' if one.fixed else ''}"
        if one.name == PYTHON and (one.too_old or one.lets_old_in):
            yield f"{where} asks for Python {one.asked}, but jax {oldest} needs {dotted(one.least.release)} or newer"
        elif one.name in JAX and one.too_old:
            yield f"{where} asks for {one.too_old}, {needs}"
        elif one.name in JAX and one.lets_old_in:
            yield f"{where} lets {one.name}{one.asked} in, {needs}"
        elif one.name not in JAX and one.too_old:
            beside.setdefault(one.file, []).append(one)
    for file, found in beside.items():
        names = ", ".join(f"{one.name}{one.asked}" for one in found)
        least = ", ".join(f"{one.name} {dotted(one.least.release)}" for one in found)
        yield f"{file}:{found[0].line} asks for {names}, which rewritten code cannot run with; what runs: {least}"
    for folder in dict.fromkeys(["", *(str(Path(name).parent) for name in _below(root, changed))]):
        for name, command in LOCKS.items():
            yield from _locked(root, (Path(folder) / name).as_posix(), command)


def requirements(root: Path, changed: Collection[Path] = ()) -> Iterator[Requirement]:
    """What a project asks of jax, of what runs beside it and of Python, in the order of files and lines.

    Lists in folders below count for the `changed` files there, and those of a folder without code for all.
    """
    yield from asked(root, dict.fromkeys((*FILES, *_files(root, MORE), *_below(root, changed))))
    yield from installed(root, _files(root, COMMANDS))


def _below(root: Path, changed: Collection[Path]) -> Iterator[str]:
    """The lists in folders below a project's own that say what the files which are rewritten run with.

    Folders without code, `docker/`, are looked at right below it.
    """
    if not changed:
        return
    around = {above for path in changed for above in path.parents if root in above.parents}
    beside = {path for path in root.iterdir() if path.is_dir() and path not in around}
    for folder in sorted(around | beside):
        found = _files(root, (f"{folder.relative_to(root).as_posix()}/{name}" for name in (*FILES, *MORE)))
        if found and (folder in around or not _has_code(folder)):
            yield from found


@lru_cache(maxsize=64)
def _has_code(folder: Path) -> bool:
    """Whether a folder has a program of its own."""
    every = (path for kind in ("*.py", "*.ipynb") for path in folder.rglob(kind))
    return any(path.name != "setup.py" for path in every)


def _files(root: Path, patterns: Iterable[str]) -> list[str]:
    found = {path.relative_to(root) for pattern in patterns for path in root.glob(pattern)}
    return sorted(path.as_posix() for path in found if not any(map(_is_of_others, path.parts[:-1])))


def _is_of_others(folder: str) -> bool:
    """Whether a folder is none of the project's own: an environment, what was fetched, what a tool keeps."""
    return folder in ("venv", "env", "node_modules", "site-packages") or (
        folder.startswith(".") and folder not in (".github", ".devcontainer")
    )


def _locked(root: Path, name: str, command: str) -> Iterator[str]:
    """That a lock file has a release of JAX which rewritten code does not run on."""
    found = _LOCKED.search(text_of(root / name))
    version = (found[1] or found[2]) if found is not None else ""
    if version and release(version) < OLDEST:
        yield f"{name} has jax {version}, but rewritten code needs {dotted(OLDEST)} or newer: run `{command}`"


def _bounds(root: Path) -> Iterator[tuple[str, Release]]:
    for one in asked(root, FILES, ("jax",)):
        for bound in one.bounds:
            yield {"": "==", "^": "~="}.get(bound.how, bound.how), bound.release
