"""From the paths on a command line to decoded files, together with the configuration that rules them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jaxmigrate.config import Config, find_config
from jaxmigrate.program.newer import described
from jaxmigrate.records import record
from jaxmigrate.requirements import project_of
from jaxmigrate.sources import (
    STDIN,
    Discovery,
    Kind,
    Location,
    SourceError,
    SourceFile,
    decode,
    discover,
    error_in,
    read_source,
)
from jaxmigrate.sources.discovery import DOCUMENTATION, KINDS, RealPaths
from jaxmigrate.terminal import plural, say


@record
class Inputs:
    """The files under one configuration.

    Attributes:
        config: What their project asks for.
        sources: Python files and notebooks, read and decoded.
        skipped: Notebooks whose code is in another language, with the reason.
        errors: What could not be found, read or decoded.
    """

    config: Config
    sources: tuple[SourceFile, ...]
    skipped: tuple[SourceError, ...]
    errors: tuple[SourceError, ...]

    @property
    def looked_at(self) -> int:
        """How many files there are, notebooks in other languages included."""
        return len(self.sources) + len(self.skipped)

    @property
    def root(self) -> Path:
        """The folder of the project that the files are of."""
        return project_of(self.config, (source.path for source in self.sources if source.path is not None))


@record
class Located:
    """The files under one configuration, found but not read, and what could not be found."""

    config: Config
    files: tuple[Location, ...]
    errors: tuple[SourceError, ...]


def load(paths: Sequence[str], force_exclude: bool = False) -> list[Inputs]:
    """Reads every file that the paths mean, each once, grouped by the project that it belongs to.

    Args:
        paths: Files, folders, or `-` for standard input, as the user named them.
        force_exclude: Whether the projects' `exclude` also applies to files that are named themselves.

    Raises:
        ConfigError: A project's configuration cannot be used.
    """
    return [_load_group(group) for group in locate(paths, force_exclude)]


def locate(
    paths: Sequence[str], force_exclude: bool = False, stdin: Path | None = None, docs: bool = False
) -> list[Located]:
    """Finds every file that the paths mean, as `load` does; `stdin` is where standard input would lie as a file.

    With `docs` that is files of documentation, and those that may hold docstrings.
    """
    seen: set[str] = set()
    return [_locate_group(config, named, force_exclude, seen, docs) for config, named in _by_project(paths, stdin)]


def tell_if_nothing_is_there(paths: Sequence[str], groups: Sequence[Located | Inputs], docs: bool = False) -> None:
    """Warns where no path led to any file: a misspelt folder must not pass for a clean one."""
    found = any(group.errors or (group.files if isinstance(group, Located) else group.looked_at) for group in groups)
    if found:
        return
    where = ", ".join(paths)
    excluded = next((group.config.file for group in groups if group.config.exclude), None)
    hidden = len(discover(paths, kinds=DOCUMENTATION if docs else KINDS).files) if excluded is not None else 0
    if hidden:
        say(f"warning: {excluded} excludes {plural(hidden, 'file')} in {where}, and there is no other")
        return
    what = "documentation" if docs else "Python files or notebooks"
    say(f"warning: no {what} in {where}")


def _by_project(paths: Iterable[str], stdin: Path | None) -> list[tuple[Config, list[str]]]:
    groups: dict[Path | None, tuple[Config, list[str]]] = {}
    for path in paths:
        config = find_config((stdin or Path.cwd()) if path == "-" else Path(path))
        groups.setdefault(config.file, (config, []))[1].append(path)
    return list(groups.values())


def _locate_group(config: Config, paths: list[str], force_exclude: bool, seen: set[str], docs: bool) -> Located:
    found = _unseen(discover(paths, config.excludes, DOCUMENTATION if docs else KINDS), seen)
    files = tuple(file for file in found.files if not (force_exclude and config.excludes(file.path)))
    return Located(config, files, found.errors)


def _load_group(group: Located) -> Inputs:
    errors = list(group.errors)
    sources: list[SourceFile] = []
    skipped: list[SourceError] = []
    for file in group.files:
        try:
            source = _read(file)
        except SourceError as error:
            errors.append(error)
            continue
        if source.notebook is not None and source.notebook.skipped:
            skipped.append(SourceError(file.name, source.notebook.skipped))
        else:
            sources.append(source)
    return Inputs(group.config, tuple(sources), tuple(skipped), tuple(errors))


def _unseen(found: Discovery, seen: set[str]) -> Discovery:
    real = RealPaths()

    def fresh() -> Iterator[Location]:
        for file in found.files:
            key = real.of(file)
            if key not in seen:
                seen.add(key)
                yield file

    return Discovery(tuple(fresh()), found.errors)


def _read(file: Location) -> SourceFile:
    if file.kind is Kind.STDIN:
        return decode(sys.stdin.buffer.read(), STDIN)
    return read_source(file.path, file.name)


def unparsable(source: SourceFile, error: SyntaxError) -> SourceError:
    """A syntax error as the one message that the user gets."""
    return error_in(source, described(error, source.text), error.lineno or 0, error.offset or 0)
