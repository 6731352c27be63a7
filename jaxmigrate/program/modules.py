"""The modules of a project and how their imports find one another.

A project is the files that were named plus whatever they import from the folders around them; the latter are read on
demand and only for their facts. Search folders are not configured: an absolute import is looked for from the importing
file's folder upward to the project's root, which covers scripts, packages and `src/` layouts alike.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from jaxmigrate.program.declarations import NOTHING_DECLARED
from jaxmigrate.program.depth import too_deep
from jaxmigrate.program.old_names import Era
from jaxmigrate.program.same_names import SameNames
from jaxmigrate.program.scopes import ScopeTable, build_scopes, walk
from jaxmigrate.records import record
from jaxmigrate.sources import JOINED
from jaxmigrate.sources.containers import CellStart

ROOT_MARKERS = frozenset(("pyproject.toml", "setup.py", "setup.cfg", ".git", "requirements.txt"))
ALWAYS_EXTERNAL = frozenset({"jax", "jaxlib", "flax", "haiku", "optax", "numpy", "functools", "equinox", "chex"})
PACKAGE = re.compile(r"(?m)^\[(?:project|tool\.poetry)\]")

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # as the parser counts them, with their ends

Reader = Callable[[Path], str | None]


def _mentioned(node: ast.AST) -> Sequence[str]:
    match node:
        case ast.Name(id=name) | ast.alias(name=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            return (name,)
        case ast.Constant(value=str(text)):
            return (text.strip(),)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
    return ()


@record(eq=False)
class Module:
    """A parsed module. `path` is absolute; `text` is what was parsed."""

    path: Path
    text: str
    tree: ast.Module

    def __repr__(self) -> str:
        return f"Module({str(self.path)!r})"

    @cached_property
    def table(self) -> ScopeTable:
        """Its scopes, made when first asked for: most modules of a project are only parsed."""
        return build_scopes(self.tree, self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All of its nodes, level by level, but for contexts and operators: walked once, however many ask."""
        return walk(self.tree)

    @cached_property
    def mentions(self) -> Mapping[str, Sequence[ast.AST]]:
        """By name, the nodes that have it as theirs or, as a string, for their text; definitions are no mentions."""
        found: dict[str, list[ast.AST]] = {}
        for node in self.nodes:
            for name in _mentioned(node):
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def lines(self) -> list[str]:
        """Its lines as the parser counts them."""
        return self.text.split("\n") if "\r" not in self.text else re.split(r"\r\n|\r|\n", self.text)

    @cached_property
    def _ended_lines(self) -> list[bytes]:
        return [line.encode() for line in _LINE.findall(self.text)]

    @cached_property
    def cells(self) -> tuple[CellStart, ...]:
        """Where its cells begin, if it is a notebook's code, or its blocks if it is that of documentation."""
        if self.path.suffix not in JOINED:
            return ()
        from jaxmigrate.sources.notebooks import cell_starts

        return cell_starts(self.text)

    @cached_property
    def runs_in_order(self) -> bool:
        """Whether its statements run in the order in which they stand; a notebook can tell that its cells did not."""
        if self.path.suffix not in JOINED:
            return True
        from jaxmigrate.sources.notebooks import runs_in_order

        return runs_in_order(self.text)

    @property
    def is_package(self) -> bool:
        """Whether this is an `__init__.py`."""
        return self.path.name == "__init__.py"

    @property
    def is_test(self) -> bool:
        """Whether this is a test, by its name or its folder."""
        name = self.path.stem
        return (
            name.startswith(("test_", "conftest"))
            or name.endswith(("_test", "_tests"))
            or name == "test"
            or "tests" in self.path.parts
        )

    def column(self, node: ast.expr | ast.stmt | ast.alias | ast.keyword) -> int:
        """A node's column in characters, from 1."""
        before = self._ended_lines[node.lineno - 1][: node.col_offset]
        return len(before.decode(errors="replace")) + 1

    def segment(self, node: ast.expr) -> str:
        """The source of an expression, as `ast.get_source_segment` gives it, which splits the text anew each time."""
        if node.end_lineno is None or node.end_col_offset is None:
            return ast.unparse(node)
        lines = self._ended_lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"".join(lines).decode()


def parse_module(path: Path, text: str, *, newer: bool = False) -> Module:
    """Parses `text`; with `newer` also where its only fault is that it has type parameters, which came in Python 3.12.

    Raises:
        SyntaxError: It cannot be parsed, for whatever reason; a notebook's cell must parse by itself.
    """
    try:
        joined = path.suffix in JOINED
        module = Module(path, text, _parsed_cells(path, text) if joined else _parsed(path, text, newer=newer))
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "nested too deeply for Python's parser") from error
    deep = too_deep(module.tree, module.lines)
    if deep is not None:
        raise SyntaxError("nested too deeply", (str(path), deep.lineno, deep.col_offset + 1, None))
    return module


def _parsed(path: Path, text: str, *, newer: bool) -> ast.Module:
    try:
        return ast.parse(text, filename=str(path))
    except SyntaxError:
        if not newer or sys.version_info >= (3, 12):
            raise
        # which most runs do without
        from jaxmigrate.program.nested_quotes import without_nested_quotes
        from jaxmigrate.program.type_parameters import without_type_parameters

        single = without_nested_quotes(text)
        older = without_type_parameters(single or text) or single
        if older is None:
            raise
    try:
        return ast.parse(older, filename=str(path))
    except SyntaxError:
        return ast.parse(text, filename=str(path))  # whose error is of what was written


def _parsed_cells(path: Path, text: str) -> ast.Module:
    """The tree of cells that are joined; what is wrong in one of them is told before what is wrong with all."""
    from jaxmigrate.sources.notebooks import check_cells

    try:
        tree = ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        check_cells(text, None)
        raise
    check_cells(text, tree)
    return tree


def import_name(path: Path) -> str:
    """The last part of the name by which others import the module at a path: its folder's for an `__init__.py`."""
    return path.parent.name if path.name == "__init__.py" else path.stem


def read_utf8(path: Path) -> str | None:
    """The default reader for modules that nobody named: None where it cannot be read as Python."""
    try:
        with path.open("rb") as stream:
            return stream.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


class Project:
    """Modules by path, and the search for imported ones."""

    def __init__(
        self,
        modules: Iterable[Module] = (),
        reader: Reader = read_utf8,
        known: Iterable[Path] = (),
        common: Path | None = None,
    ) -> None:
        """`known` are paths that `reader` has although no folder may list them; `common` holds all that was named."""
        self._modules: dict[Path, Module | None] = {module.path: module for module in modules}
        self._known = frozenset(known) | frozenset(self._modules)
        self.named: tuple[Module, ...] = tuple(m for m in self._modules.values() if m is not None)
        self.reads_newer = False  # also modules with the syntax of a later Python, as far as that can be left out
        self.declared = NOTHING_DECLARED  # what the project says of functions
        self.era: Era = ""  # the releases of JAX that it asks for alone
        self.beside: tuple[Module, ...] = ()  # what may be loaded with them, where whoever made the project looked
        self._reader = reader
        self._given_common = common
        self._by_tree: dict[ast.AST, Module] = {}
        self._texts: dict[Path, str | None] = {}
        self._holding: dict[tuple[Path, tuple[str, ...]], bool] = {}
        self._roots: dict[str, str] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self.imports: dict[Path, frozenset[Path]] = {}  # whoever reads imports from texts keeps them here
        self._places: dict[tuple[str, str], list[tuple[str, bool]]] = {}
        self._imports: dict[tuple[Path, str, int], Path | None] = {}
        self._same_names = SameNames(self)

    def adopt(self, modules: Iterable[Module]) -> None:
        """Takes in modules that were parsed after the search for others had begun."""
        found = {module.path: module for module in modules}
        self._modules.update(found)
        self._same_names = SameNames(self)
        self._holding.clear()  # their texts are decoded by what they declare
        self._known |= frozenset(found)
        self.named += tuple(found.values())

    def part(self, named: Iterable[Module], beside: Iterable[Module]) -> Project:
        """One program among those of the project: the same files, of which these are named and loaded with them."""
        self._common, self._in_memory  # noqa: B018 - as the whole project has them
        found = copy.copy(self)  # what was parsed and looked up is shared
        found.named, found.beside = tuple(named), tuple(beside)
        return found

    @property
    def program(self) -> tuple[Module, ...]:
        """The modules that were named, and those that may be loaded with them."""
        return self.named + self.beside

    def module(self, path: Path) -> Module | None:
        """The module at `path`, read if need be; None where it is absent or does not parse."""
        if path not in self._modules:
            self._modules[path] = self._load(path)
        return self._modules[path]

    def parsed_from(self, tree: ast.AST) -> Module | None:
        """The module whose tree that is, if it was read."""
        if tree not in self._by_tree:
            self._by_tree.update((module.tree, module) for module in self._modules.values() if module is not None)
        found = self._by_tree.get(tree)
        return found if found is not None and self._modules.get(found.path) is found else None

    def is_packaged(self, module: Module) -> bool:
        """Whether a module is part of a package that can be installed, so that other projects may use it."""
        folder = str(module.path.parent)
        if "__init__.py" not in self._listing(folder):
            return False
        while "__init__.py" in self._listing(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        return any(self._says_package(place) for place in (folder, os.path.dirname(folder)))

    def _says_package(self, folder: str) -> bool:
        entries = self._listing(folder)
        if "setup.py" in entries:
            return True
        text = self.text(Path(folder, "pyproject.toml")) if "pyproject.toml" in entries else None
        return text is not None and PACKAGE.search(text) is not None

    def text(self, path: Path) -> str | None:
        """The text at `path`, not parsed; None where it cannot be read."""
        known = self._modules.get(path)
        if known is not None:
            return known.text
        if path not in self._texts:
            self._texts[path] = self._reader(path)
        return self._texts[path]

    def has(self, path: Path) -> bool:
        """Whether there is a file at `path`; nothing is read."""
        return path.name in self._listing(str(path.parent))

    def holds(self, path: Path, words: tuple[str, ...]) -> bool:
        """Whether the text at `path` holds one of some words; looked for once."""
        key = (path, words)
        if key not in self._holding:
            text = self.text(path)
            self._holding[key] = text is not None and any(word in text for word in words)
        return self._holding[key]

    @property
    def listings(self) -> Mapping[str, frozenset[str]]:
        """The entries of every folder that was searched."""
        return self._folders

    def _load(self, path: Path) -> Module | None:
        text = self.text(path)
        if text is None:
            return None
        try:
            return parse_module(path, text, newer=self.reads_newer)
        except SyntaxError:
            return None

    def imported(self, importer: Module, name: str, level: int = 0) -> Module | None:
        """The module that `import name` (or `from` with `level` dots) in `importer` loads, if the project has it."""
        path = self.find(importer, name, level)
        return self.module(path) if path is not None else None

    def find(self, importer: Module, name: str, level: int = 0) -> Path | None:
        """Where the module lies that an import loads; nothing is read."""
        return self.find_from(importer.path, name, level)

    def find_from(self, importer: Path, name: str, level: int = 0) -> Path | None:
        """As `find`, for a module that has not been parsed."""
        key = (importer, name, level)
        if key not in self._imports:
            found = self._find(str(importer), name, level)
            self._imports[key] = None if found is None else Path(found)
        return self._imports[key]

    def imported_path(self, alias: ast.alias, importer: Module) -> Path | None:
        """Where the module lies that an alias of an import statement stands for; None where it is no module's name."""
        statement = importer.table.parents.get(alias)
        if isinstance(statement, ast.ImportFrom):
            return self.find(importer, f"{statement.module or ''}.{alias.name}".lstrip("."), statement.level)
        return self.find(importer, alias.name if alias.asname else alias.name.partition(".")[0])

    def _find(self, importer: str, name: str, level: int) -> str | None:
        parts = name.split(".") if name else []
        folder = os.path.dirname(importer)
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._below(folder, parts)
        if not parts or parts[0] in ALWAYS_EXTERNAL:
            return None
        if f"/{parts[0]}/" in importer and (found := self._in_own_package(importer, parts)) is not None:
            return found  # a module of a package imports another one by the package's own name
        candidates: dict[str, str] = {}
        for place, is_source in self._homes(folder, parts[0]):
            found = self._below(place, parts)
            if found is not None and (found != importer or is_source):
                candidates[place] = found
        return self._same_names.chosen(importer, candidates) if candidates else None

    @property
    def common(self) -> str:
        """The folder that holds all files."""
        return self._common

    def entries(self, folder: str) -> frozenset[str]:
        """The names of what is in a folder."""
        return self._listing(folder)

    def files_in(self, folder: str) -> Iterator[Path]:
        """The files of a folder."""
        return (Path(folder, name) for name in self._listing(folder) if name.endswith(".py"))

    @property
    def known(self) -> frozenset[Path]:
        """The paths that are known although no folder may list them."""
        return self._known

    def _homes(self, folder: str, first: str) -> list[tuple[str, bool]]:
        """The folders from one up to the project's root, and `src/` in each, that have something of a name.

        With each, whether it is such a `src/`.
        """
        key = (folder, first)
        if key not in self._places:
            places = [(folder, False)]
            if "src" in self._listing(folder):
                places.append((f"{folder}/src", True))
            found = [one for one in places if not self._listing(one[0]).isdisjoint((first, f"{first}.py"))]
            above = os.path.dirname(folder)
            if folder not in (self._root(folder), above):
                found += self._homes(above, first)
            self._places[key] = found
        return self._places[key]

    def _in_own_package(self, importer: str, parts: list[str]) -> str | None:
        folder = os.path.dirname(importer)
        while folder != os.path.dirname(folder):
            if os.path.basename(folder) == parts[0]:
                found = self._below(os.path.dirname(folder), parts)
                if found not in (None, importer):
                    return found
            folder = os.path.dirname(folder)
        return None

    def _below(self, folder: str, parts: list[str]) -> str | None:
        for part in parts[:-1]:
            if part not in self._listing(folder):
                return None
            folder = f"{folder}/{part}"
        if not parts:
            return f"{folder}/__init__.py" if "__init__.py" in self._listing(folder) else None
        entries = self._listing(folder)
        if f"{parts[-1]}.py" in entries:
            return f"{folder}/{parts[-1]}.py"
        if parts[-1] in entries and "__init__.py" in self._listing(f"{folder}/{parts[-1]}"):
            return f"{folder}/{parts[-1]}/__init__.py"
        return None

    def _listing(self, folder: str) -> frozenset[str]:
        known = self._folders.get(folder)
        if known is None:
            entries = set(self._in_memory.get(folder, ()))
            with contextlib.suppress(OSError):
                entries |= set(os.listdir(folder or "/"))
            known = self._folders[folder] = frozenset(entries)
        return known

    @cached_property
    def _in_memory(self) -> dict[str, set[str]]:
        """The known paths as folders with their entries."""
        entries: dict[str, set[str]] = {}
        for path in self._known:
            while path.name not in entries.get(str(path.parent), ()) and path != path.parent:
                entries.setdefault(str(path.parent), set()).add(path.name)
                path = path.parent
        return entries

    def _root(self, folder: str) -> str:
        if folder not in self._roots:
            marked = not self._listing(folder).isdisjoint(ROOT_MARKERS)
            at_root = marked or folder in (self._common, os.path.dirname(folder))
            self._roots[folder] = folder if at_root else self._root(os.path.dirname(folder))
        return self._roots[folder]

    @cached_property
    def _common(self) -> str:
        """Where no marker says what the project's root is, the folder that holds all named modules."""
        if self._given_common is not None:
            return str(self._given_common)
        folders = [module.path.parent for module in self.named]
        return os.path.commonpath(folders) if folders else "/"
