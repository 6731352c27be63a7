"""Which folder a verification works on a copy of, and where in it COMMAND runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from jaxmigrate.commands import Failure

PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")


def project_root(paths: Sequence[Path]) -> Path:
    """The folder that holds the paths, the current folder, and whatever else COMMAND may need.

    It is the nearest project above the paths, so long as COMMAND's folder, the current one, lies within; else it is
    the current folder, so long as the paths lie within.

    Raises:
        Failure: COMMAND would run outside the project, or the copy would be of somebody's whole home.
    """
    here = located(Path.cwd())
    project = _project(_common(paths))
    if here.is_relative_to(project):
        return project
    if not project.is_relative_to(here):
        raise Failure(f"COMMAND runs in {here}, which is not in the project {project}; change into the project first")
    if here in (Path.home(), Path(here.anchor)):
        raise Failure(f"{here} is too large to be copied for a run; change into {project} first")
    return here


def located(path: Path) -> Path:
    """The absolute path with the links on the way to it resolved, but not the one that it may itself be."""
    if path.is_dir():
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent)) / path.name


def _common(paths: Sequence[Path]) -> Path:
    """The folder that holds some paths; homes are not copied for having been named."""
    folders = [path if path.is_dir() else path.parent for path in map(located, paths)]
    small = [folder for folder in folders if folder not in (Path.home(), Path(folder.anchor))]
    return Path(os.path.commonpath(small or folders))


def _project(folder: Path) -> Path:
    """The nearest folder upward that looks like a project's, short of a home; the folder itself if there is none."""
    for candidate in (folder, *folder.parents):
        if candidate in (Path.home(), Path(candidate.anchor)):
            break
        if any((candidate / mark).exists() for mark in PROJECT_MARKS):
            return candidate
    return folder
