"""Where the functions that several files share stand: one module that all of them can import.

How a file can import another one shows in what it imports, or in who imports it; where nothing shows, it has the
functions itself.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.migrate.names import FileNames
from jaxmigrate.program.modules import Module, Project, read_utf8

LEVELS = 3  # folders above a script that may say how it is started
STARTERS = {".md", ".rst", ".sh", ".toml", ".cfg", ".yml", ".yaml", "Makefile", "Dockerfile", "setup.py"}
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
    users: Sequence[Module],
    modules: Sequence[Module],
    project: Project,
    serves: Callable[[str, Sequence[Module]], bool],
) -> dict[Module, Location]:
    """Where each file finds the shared functions; files that can import from one folder have one module there.

    `serves` says whether the text of a module that is there already has all that some files want of it.
    """
    found: dict[Module, Location] = {module: Location("") for module in modules}
    groups: dict[Path, list[tuple[Module, str]]] = {}
    for module in users:
        home = _home(module, modules, project)
        if home is not None:
            groups.setdefault(home.folder, []).append((module, home.prefix))
    for folder, group in groups.items():
        if len(group) > 1:
            stem = _name_in(folder, project, [module for module, _ in group], serves)
            found |= {m: Location(f"{prefix}{stem}", folder / f"{stem}.py") for m, prefix in group}
    return found


def _name_in(
    folder: Path, project: Project, users: Sequence[Module], serves: Callable[[str, Sequence[Module]], bool]
) -> str:
    """The name of a module that a folder does not have yet, or that serves its users as it is."""
    for name in NAMES:
        text = project.text(folder / f"{name}.py")
        if serves(text, users) if text is not None else not (folder / name).exists():
            return name
    return NAMES[-1]


def _home(module: Module, modules: Sequence[Module], project: Project) -> _Home | None:
    """The folder from which a file can surely import, if anything shows one; a package comes before a script's."""
    level = max((n.level for n in module.tree.body if isinstance(n, ast.ImportFrom)), default=0)
    own = list(_roots(module, project))
    others = (found for other in modules if other is not module for found in _roots(other, project, module.path))
    for root, first, is_dotted in sorted([*own, *others], key=lambda one: not one[2]):
        if module.path.is_relative_to(root):
            if not is_dotted:
                return _Home(root, "")
            dots = len(module.path.relative_to(root / first).parts) if level and not own else 0
            return _Home(root / first, "." * dots or f"{first}.")
    if level:
        return _Home(module.path.parents[level - 1], "." * level)
    if any(_imports_as_part(other, module.path) for other in modules if other is not module):
        return _Home(module.path.parent, ".")
    return _Home(module.path.parent, "") if _is_script(module) else None


def _imports_as_part(module: Module, target: Path) -> bool:
    """Whether a file imports another one as a part of the package that both are in."""
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= len(module.path.parents):
            folder = module.path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            names = (alias.name for alias in node.names)
            if target == folder.with_suffix(".py") or (target.parent == folder and target.stem in names):
                return True
    return False


def _is_script(module: Module) -> bool:
    """Whether a file is run by its path, so that it can import what stands beside it.

    It has a part that runs only so, and neither its folder nor one of the files that say how programs are started shows
    that it is part of a package.
    """
    folder = module.path.parent
    if (folder / "__init__.py").exists() or not any(map(_runs_by_path, module.tree.body)):
        return False
    return not any(f"{folder.name}.{module.path.stem}" in text for text in _ways_to_start(folder))


def _runs_by_path(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)


@functools.lru_cache(maxsize=256)
def _ways_to_start(folder: Path) -> tuple[str, ...]:
    """The texts in a folder and the next ones above it, up to the repository's, that may name a file as a module."""
    found: list[str | None] = []
    for above in (folder, *folder.parents[:LEVELS]):
        if above.is_dir():
            found += [read_utf8(path) for path in above.iterdir() if {path.suffix, path.name} & STARTERS]
        if (above / ".git").exists():
            break
    return tuple(text for text in found if text is not None)


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
            known = name.partition(".")[0] in sys.stdlib_module_names  # whatever a folder of that name holds
            path = None if known else project.find(module, name)
            if path is not None:
                yield name, path
