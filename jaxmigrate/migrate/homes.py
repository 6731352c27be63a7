"""The folders from which files can import a module that is put there, as their imports show it.

Packages of one program have one such folder: the package that holds them all, or a package beside theirs that all the
others import from already.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from jaxmigrate.program.modules import Module, Project, read_utf8
from jaxmigrate.program.syntax import is_main_guard

LEVELS = 3  # folders above a script that may say how it is started
Imported: TypeAlias = tuple[str, Path]  # the dotted name that a file imports, and the file of the project that it is
Imports: TypeAlias = Mapping[Module, Sequence[Imported]]
STARTERS = {".md", ".rst", ".sh", ".toml", ".cfg", ".yml", ".yaml", "Makefile", "Dockerfile", "setup.py"}


@dataclass(frozen=True, slots=True)
class Home:
    """A folder that can hold a module, and what stands before the module's name in an import.

    `root` is the folder from which the absolute imports of the file are found, where they show it.
    """

    folder: Path
    prefix: str
    root: Path | None = None


def homes_of(users: Sequence[Module], modules: Sequence[Module], project: Project) -> dict[Module, Home]:
    """The home of each file of which the imports show one; files of one program have one in common where they can."""
    imports = {m: list(_imports(m, project)) for m in {*users, *modules}}
    own = {m: home for m in users if (home := _home(m, modules, imports)) is not None}
    return _of_scripts(_beside(_within_one_package(own, project), imports), imports, project)


def _within_one_package(homes: Mapping[Module, Home], project: Project) -> dict[Module, Home]:
    """The homes, with the package that holds several of them in the place of its parts."""
    chains = {home.folder: _packages_around(home, project) for home in homes.values()}

    def common(home: Home) -> Path:
        others = (chain for folder, chain in chains.items() if folder != home.folder)
        shared = (next((one for one in chains[home.folder] if one in chain), home.folder) for chain in others)
        return min(shared, key=lambda folder: len(folder.parts), default=home.folder)

    return {m: home if (top := common(home)) == home.folder else _inside(m, top) for m, home in homes.items()}


def _inside(module: Module, package: Path) -> Home:
    return Home(package, "." * len(module.path.relative_to(package).parts))


def _packages_around(home: Home, project: Project) -> list[Path]:
    """A home, and the packages that it is a part of, from the inside: those that import it as one."""
    found = [home.folder]
    while home.root is None and home.prefix.startswith(".") and _is_part(found[-1], project):
        found.append(found[-1].parent)
    return found


def _is_part(package: Path, project: Project) -> bool:
    """Whether the package around another one imports it, so that both are always imported as one."""
    start = package.parent / "__init__.py"
    text = project.text(start) if project.has(package / "__init__.py") and project.has(start) else None
    try:
        statements = ast.parse(text or "").body
    except SyntaxError:
        return False
    for node in statements:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            if any(name.partition(".")[0] == package.name for name in names):
                return True
    return False


def _beside(homes: Mapping[Module, Home], imports: Imports) -> dict[Module, Home]:
    """The homes, with one package for all whose imports are found from one folder, if all others import from it."""
    found = dict(homes)
    for root in {home.root for home in homes.values()} - {None}:
        assert root is not None
        group = [m for m, home in homes.items() if home.root == root]
        if len({homes[m].folder for m in group}) > 1:
            tops = {m: {top for one, top, dotted in _roots(imports[m]) if one == root and dotted} for m in group}
            inside = {m: m.path.relative_to(root).parts[0] for m in group}
            every = sorted(t for t in set().union(*tops.values()) if all(t in tops[m] or inside[m] == t for m in group))
            if every:
                top = max(every, key=lambda one: sum(inside[m] == one for m in group))
                found |= {m: Home(root / top, f"{top}.", root) for m in group if homes[m].folder != root / top}
    return found


def _of_scripts(homes: Mapping[Module, Home], imports: Imports, project: Project) -> dict[Module, Home]:
    """The homes, with the package of other files for scripts and notebooks that can import it.

    They can where their own imports find parts of packages in the folder that it is in, or where they stand in that.
    What shares a module with others that cannot stays with them.
    """
    scripts = [m for m, home in homes.items() if not home.prefix.startswith(".") and (m.cells or _is_script(m))]
    packages = Counter(home.folder for home in homes.values() if home.prefix and home.root == home.folder.parent)
    moved: dict[Module, Path] = {}
    for module in scripts:
        folder = module.path.parent
        seen = {root for root, _, is_dotted in _roots(imports[module]) if is_dotted}
        within = [
            one
            for one in packages
            if (one.parent in seen and (one.parent == folder or not _holds(project, folder, one.name)))
            or (one.parent == folder and _imports_nothing(one, project))
        ]
        top = max(within, key=lambda one: packages[one], default=None)
        if top is not None and packages[top] > packages[homes[module].folder]:
            moved[module] = top
    stays = {home.folder for module, home in homes.items() if module not in moved}
    return {
        m: Home(top, f"{top.name}.", top.parent) if (top := moved.get(m)) and home.folder not in stays else home
        for m, home in homes.items()
    }


def _holds(project: Project, folder: Path, name: str) -> bool:
    """Whether a folder has a module or a folder of a name, which hides another one further on."""
    return project.has(folder / name) or project.has(folder / f"{name}.py")


def _imports_nothing(package: Path, project: Project) -> bool:
    """Whether a package that a script has not imported so far asks for nothing that it might not have."""
    start = package / "__init__.py"
    return project.has(start) and "import" not in (project.text(start) or "")


def _home(module: Module, modules: Sequence[Module], imports: Imports) -> Home | None:
    """The folder from which a file can surely import, if anything shows one.

    Its own folder comes first, where it imports a file beside it, then a package, then a script's folder.
    """
    if _goes_both_ways(module, modules, imports):
        return None
    level = max((n.level for n in module.tree.body if isinstance(n, ast.ImportFrom)), default=0)
    own = list(_roots(imports[module]))
    others = (found for other in modules if other is not module for found in _roots(imports[other], module.path))
    for root, first, is_dotted in sorted([*own, *others], key=lambda one: one[2] == (one[0] == module.path.parent)):
        if module.path.is_relative_to(root):
            if not is_dotted:
                return Home(root, "", root)
            dots = len(module.path.relative_to(root / first).parts) if level and not own else 0
            return Home(root / first, "." * dots or f"{first}.", root)
    if level:
        return Home(module.path.parents[level - 1], "." * level)
    if any(_imports_as_part(other, module.path) for other in modules if other is not module):
        return Home(module.path.parent, ".")
    folder = module.path.parent
    if any(_are_from_package(imports[other], folder) for other in modules if other is not module):
        return None  # somebody may import the script as a part of that package as well
    return Home(folder, "") if _is_script(module) else None


def _goes_both_ways(module: Module, modules: Sequence[Module], imports: Imports) -> bool:
    """Whether a file is a part of a package and a script's neighbour: no import of another one works both times.

    It, or what imports it, has `from .a import b`, and `from a import b` where that fails.
    """
    for one in dict.fromkeys((module, *modules)):
        plain = {path for name, path in imports[one] if "." not in name}
        shared = plain.intersection(_relative(one, one.table.import_statements)) if plain else set()
        if module.path in shared or (one is module and shared):
            return True
    return False


def _relative(module: Module, statements: Iterable[ast.stmt]) -> Iterator[Path]:
    """The files that the relative imports among some statements of a file may lead to."""
    for node in statements:
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= len(module.path.parents):
            folder = module.path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            yield folder.with_suffix(".py")
            yield from (folder / f"{alias.name}.py" for alias in node.names)


def _are_from_package(imports: Sequence[Imported], folder: Path) -> bool:
    """Whether some imports find a file of a folder by a dotted name, as a part of a package."""
    return any("." in name and path.parent == folder for name, path in imports)


def _imports_as_part(module: Module, target: Path) -> bool:
    """Whether a file imports another one as a part of the package that both are in."""
    return target in _relative(module, module.tree.body)


def _is_script(module: Module) -> bool:
    """Whether a file is run by its path, so that it can import what stands beside it.

    It has a part that runs only so, or a name that no import statement can say, and neither its folder nor one of the
    files that say how programs are started shows that it is part of a package.
    """
    folder, stem = module.path.parent, module.path.stem
    is_part = (folder / "__init__.py").exists() or not any(map(is_main_guard, module.tree.body))
    if is_part and stem.isidentifier():
        return False
    return not any(f"{folder.name}.{stem}" in text for text in _ways_to_start(folder))


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


def _roots(imports: Sequence[Imported], target: Path | None = None) -> Iterator[tuple[Path, str, bool]]:
    """The folders from which absolute imports are found, with the first part of their dotted names.

    With a target only those that import that file.
    """
    for name, path in imports:
        if target is not None and path != target:
            continue
        parts = name.split(".")
        stem = path.parent if path.name == "__init__.py" else path.with_suffix("")
        if stem.parts[-len(parts) :] == tuple(parts):
            yield Path(*stem.parts[: -len(parts)]), parts[0], len(parts) > 1 or path.name == "__init__.py"


def _imports(module: Module, project: Project) -> Iterator[Imported]:
    """The absolute imports of a file that lead to files of the project, but for those of a script alone."""
    by_path = {node for one in module.tree.body if is_main_guard(one) for node in ast.walk(one)}
    for statement in module.table.import_statements:
        if statement in by_path:
            continue
        names, parts = list[str](), list[str]()
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif not statement.level and statement.module:
            names, parts = [statement.module], [f"{statement.module}.{alias.name}" for alias in statement.names]
        known = {name: path for name in (*names, *parts) if (path := _found(module, name, project)) is not None}
        holds_parts = any(name in known for name in parts)
        for name, path in known.items():
            if name in parts or not holds_parts or path.name == "__init__.py":
                yield name, path  # what has files as parts is no file of that name beside this one


def _found(module: Module, name: str, project: Project) -> Path | None:
    """The file of the project that an absolute import leads to; none for the standard library's names."""
    return None if name.partition(".")[0] in sys.stdlib_module_names else project.find(module, name)
