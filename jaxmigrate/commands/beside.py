"""The files of a project that were not given: what they do with those that were decides what these may become."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxmigrate.commands.scope import PROJECT_MARKS
from jaxmigrate.config import Config
from jaxmigrate.lint.linting import place
from jaxmigrate.program.old_mentions import may_use_old_names
from jaxmigrate.sources import Kind, Location, SourceError, SourceFile, discover, read_source
from jaxmigrate.sources.discovery import RealPaths
from jaxmigrate.sources.nearest import nearest
from jaxmigrate.terminal import say


def texts_beside(sources: Sequence[SourceFile], config: Config) -> dict[Path, str]:
    """The texts of the other files of the project that some are of, by path; none where these cannot change.

    What the configuration or a `.gitignore` excludes takes no part, and no more does what cannot be read.
    """
    given = [place(source) for source in sources if source.path is not None]
    if not given or not any("pmap" in source.text or may_use_old_names(source.text) for source in sources):
        return {}
    found: dict[Path, str] = {}
    for path in _others(given, config):
        try:
            source = read_source(path)
        except SourceError:
            continue
        found[place(source)] = source.text
    return found


def _others(given: Sequence[Path], config: Config) -> Iterator[Path]:
    """The files of the projects that some files are of, but for these."""
    real = RealPaths()
    known = {real.of(Location("", path, Kind.PYTHON, path.is_symlink())) for path in given}
    for root in _roots(given):
        for file in _below(root, given, config):
            if (one := real.of(file)) not in known:
                known.add(one)
                yield file.path


def _below(root: Path, given: Sequence[Path], config: Config) -> Sequence[Location]:
    """The files of a project; of a folder that is none and has very many, those that are near, which is told."""
    if config.file is not None or any((root / mark).exists() for mark in PROJECT_MARKS):
        return discover([str(root)], config.excludes).files
    found = nearest(root, {path.parent for path in given if path.is_relative_to(root)}, config.excludes)
    if not found.are_all:
        _tell(root, len(found.files))
    return found.files


@functools.cache
def _tell(root: Path, count: int) -> None:
    """Says once what was not looked at, quiet or not: code there may use what is rewritten."""
    say(
        f"note: {root} has no {', '.join(PROJECT_MARKS[:-1])} or {PROJECT_MARKS[-1]} and very many files: only {count} "
        "Python files were looked at, those beside the files given or in their packages and the nearest others; if "
        "more use these, --layout stacked keeps them right, and a pyproject.toml in the project's folder has all read"
    )


def _roots(paths: Sequence[Path]) -> list[Path]:
    """The folders of the projects that files are of, each once and without those inside of another."""
    roots = sorted({root_of(folder) for folder in {path.parent for path in paths}})
    return [root for root in roots if not any(root.is_relative_to(other) for other in roots if other != root)]


def root_of(folder: Path) -> Path:
    """The nearest folder upward that looks like a project's.

    Where none does it is the current folder if it lies above, else what holds the package that the folder is part of.
    """
    too_wide = {Path.home(), Path(folder.anchor), Path(tempfile.gettempdir())}
    for candidate in (folder, *folder.parents):
        if candidate in too_wide:
            break
        if any((candidate / mark).exists() for mark in PROJECT_MARKS):
            return candidate
    here = Path.cwd()
    if folder.is_relative_to(here) and here not in too_wide:
        return here
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder
