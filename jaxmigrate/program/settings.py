"""The files beside a program that set what it is run with: YAML and JSON, in its folders and in those for settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver

ENDINGS = (".yaml", ".yml", ".json")
FOLDERS = ("conf", "setting", "experiment", "hparam")  # how the names of folders for settings start
MOST, LONGEST = 60, 30_000  # files, and characters of one


@once
def settings(resolver: Resolver) -> list[str]:
    """The texts of such files."""
    project = resolver.project
    folders = dict.fromkeys(folder for module in project.named for folder in _above(module, project))
    paths = dict.fromkeys(path for folder in folders for path in _files(folder, project, 2))
    texts = (project.text(path) or "" for path in list(paths)[:MOST])
    return [text for text in texts if len(text) <= LONGEST]


def _above(module: Module, project: Project) -> Iterator[str]:
    """The folders from that of a module to the one that holds all files."""
    folder, root = module.path.parent, Path(project.common)
    yield str(folder)
    while folder not in (root, folder.parent) and root in folder.parents:
        folder = folder.parent
        yield str(folder)


def _files(folder: str, project: Project, depth: int) -> Iterator[Path]:
    for name in sorted(project.entries(folder)):
        if name.endswith(ENDINGS):
            yield Path(folder, name)
        elif depth and "." not in name and (depth == 1 or name.startswith(FOLDERS)):
            yield from _files(f"{folder}/{name}", project, depth - 1)
