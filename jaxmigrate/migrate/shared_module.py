"""Where the functions that several files share stand: one module that all of them can import.

How a file can import another one shows in what it imports, or in who imports it; where nothing shows, it has the
functions itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.migrate.names import FileNames
from jaxmigrate.program.modules import Module, Project

NAMES = ("sharding", "device_mesh", "jax_sharding", "jaxmigrate_sharding")


@dataclass(frozen=True, slots=True)
class Location:
    """Where the shared functions of a file stand: in itself, or in a module that it imports by a name."""

    module: str  # empty where it is the file itself
    path: Path | None = None

    def name(self, function: str, names: FileNames) -> str:
        """What the file calls one of the functions."""
        return names.import_from(self.module, function) if self.module else names.free(function)


@dataclass(frozen=True, slots=True)
class _Home:
    """A folder that can hold the module, and what stands before its name in an import."""

    folder: Path
    prefix: str


def locations(
    users: Sequence[Module], modules: Sequence[Module], project: Project, serves: Callable[[str], bool]
) -> dict[Module, Location]:
    """Where each file finds the shared functions; files that can import from one folder have one module there.

    `serves` says whether the text of a module that is there already has all that is wanted of it.
    """
    found: dict[Module, Location] = {module: Location("") for module in modules}
    groups: dict[Path, list[tuple[Module, str]]] = {}
    for module in users:
        home = _home(module, modules, project)
        if home is not None:
            groups.setdefault(home.folder, []).append((module, home.prefix))
    for folder, group in groups.items():
        if len(group) > 1:
            stem = _name_in(folder, project, serves)
            found |= {m: Location(f"{prefix}{stem}", folder / f"{stem}.py") for m, prefix in group}
    return found


def _name_in(folder: Path, project: Project, serves: Callable[[str], bool]) -> str:
    """The name of a module that a folder does not have yet, or that serves as it is."""
    for name in NAMES:
        text = project.text(folder / f"{name}.py")
        if serves(text) if text is not None else not (folder / name).exists():
            return name
    return NAMES[-1]


def _home(module: Module, modules: Sequence[Module], project: Project) -> _Home | None:
    """The folder from which a file can surely import, if anything shows one; a package comes before a script's."""
    own = list(_roots(module, project))
    others = (found for other in modules if other is not module for found in _roots(other, project, module.path))
    for root, first, is_dotted in sorted([*own, *others], key=lambda one: not one[2]):
        if module.path.is_relative_to(root):
            return _Home(root / first, f"{first}.") if is_dotted else _Home(root, "")
    level = max((n.level for n in module.tree.body if isinstance(n, ast.ImportFrom)), default=0)
    if not level:
        return None
    return _Home(module.path.parents[level - 1], "." * level)


def _roots(module: Module, project: Project, target: Path | None = None) -> Iterator[tuple[Path, str, bool]]:
    """The folders from which absolute imports of a file are found, with the first part of their dotted names.

    With a target only those that import that file.
    """
    for name, path in _imports(module, project):
        if target is not None and path != target:
            continue
        parts = name.split(".")
        stem = path.parent if path.name == "__init__.py" else path.with_suffix("")
        if stem.parts[-len(parts) :] == tuple(parts):
            yield Path(*stem.parts[: -len(parts)]), parts[0], len(parts) > 1 or path.name == "__init__.py"


def _imports(module: Module, project: Project) -> Iterator[tuple[str, Path]]:
    """The absolute imports of a file that lead to files of the project."""
    for statement in module.table.import_statements:
        names: list[str] = []
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif not statement.level and statement.module:
            names = [statement.module, *(f"{statement.module}.{alias.name}" for alias in statement.names)]
        for name in names:
            path = project.find(module, name)
            if path is not None:
                yield name, path
