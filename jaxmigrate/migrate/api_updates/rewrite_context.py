"""What the subjects of this room share while they rewrite a file: operations, names that it can use, what is left."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxmigrate.migrate.imports import bound_name, free_name, has_jax_import, imports_only, used_names
from jaxmigrate.migrate.wanted import ALL, DECLINED, Wanted
from jaxmigrate.program.jax_names import newest_jax
from jaxmigrate.program.kept import KEPT, asked_at
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import OldName, Release
from jaxmigrate.program.operations import Code, Define, Import, Operation, Replace, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import ReferenceNode, denotes
from jaxmigrate.program.unknown_names import UnknownName

KEPT_HERE = "is kept, as the comment on its line asks"
KEPT_ALONG = "is imported together with a use that a comment keeps"
NOT_LOADED = ("jax.extend.", "jax.experimental.", "jax.example_libraries.", "jax.flatten_util.")
SHORT = {
    "jax.sharding.PartitionSpec": ("P", "PartitionSpec"),
    "jax.numpy": ("jnp", "jax_numpy"),
    "numpy": ("np",),
    "equinox": ("eqx",),
    "jax.extend.core": ("core", "jex_core"),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One use of an old name, at a place of the text that the rewrite started from; `reason` where it is left."""

    line: int
    column: int
    name: str
    replacement: str
    code: str
    reason: str = ""


class Added(NamedTuple):
    """A name that an import is added for, and where it is used."""

    name: str
    uses: list[ast.AST]

    def statement(self, dotted: str) -> Import:
        """The import of what goes by a dotted name."""
        parent, _, last = dotted.rpartition(".")
        if not parent or dotted == "jax.numpy":
            return Import(dotted, asname="" if self.name == dotted else self.name, uses=tuple(self.uses))
        return Import(parent, last, "" if self.name == last else self.name, tuple(self.uses))


LOOKED_UP = frozenset({"getattr", "hasattr", "setattr", "delattr", "globals", "locals", "vars", "patch"})


def _named_by_text(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The strings of `__all__`, and those by which a program looks names up."""
    for node in nodes:
        names = {n.id if isinstance(n, ast.Name) else n.attr for n in _heads(node)}
        if "__all__" in names or names & LOOKED_UP:
            constants = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
            yield from (value for value in constants if isinstance(value, str))


def _heads(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """What a statement assigns to, or an expression calls or reads an item of."""
    found: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        found = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        found = [node.target]
    elif isinstance(node, ast.Call):
        found = [node.func, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        found = [node.value.func]
    yield from (one for one in found if isinstance(one, ast.Name | ast.Attribute))


def is_kept(node: ast.expr | ast.alias, row: OldName, module: Module, wanted: Wanted) -> bool:
    """Whether a use of an old name is to stay: not wanted, or kept by a comment on its first or last line."""
    if not wanted.selects(row.code) or wanted.declines_name(module.path, row.name):
        return True
    return asked_at(module.text, (node.lineno, node.end_lineno or node.lineno), row.code) > 0


@dataclass(slots=True, eq=False)
class RewriteContext:
    """The rewrite of one module in the making."""

    module: Module
    resolver: Resolver
    target: Release | None
    imported: frozenset[str]  # names that other modules import from this one
    wanted: Wanted = ALL
    operations: list[Operation] = field(default_factory=list)
    added: dict[str, Added] = field(default_factory=dict)  # by dotted name
    gone: set[ast.AST] = field(default_factory=set)
    seen: list[Seen] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    helpers: dict[str, list[str]] = field(default_factory=dict)  # functions to write out, by name
    uses: list[ast.AST] = field(default_factory=list)  # where these are used
    in_quotes: set[str] = field(default_factory=set)  # names that are read in strings, and stay
    loaded: set[str] = field(default_factory=set)  # modules that `import a.b.c` statements will load

    _listed: frozenset[str] = field(init=False)  # names that the module says in strings, such as those of __all__

    def __post_init__(self) -> None:
        self._listed = frozenset(_named_by_text(self.module.nodes))
        self.taken = set(used_names(self.module))

    def replace(self, node: ast.expr, new: str | Code) -> None:
        """Puts new code in the place of an expression."""
        self.operations.append(Replace(node, code(new) if isinstance(new, str) else new))
        self.gone.update(ast.walk(node))

    def done(self, node: ast.expr | ast.alias, row: OldName) -> None:
        """Notes that a use of an old name was replaced."""
        self._note(node, row.name, row.replacement, row.code, "")

    def keeps(self, node: ast.expr, row: OldName) -> bool:
        """Whether a comment asks that a use of an old name stays, which is noted."""
        kept = is_kept(node, row, self.module, self.wanted)
        if kept:
            self.leave(node, row, KEPT_HERE)
        return kept

    def leave(self, node: ast.expr | ast.alias, row: OldName, reason: str = "") -> None:
        """Notes that a use of an old name stays, and why."""
        if not self.wanted.selects(row.code):
            return
        if self.wanted.declines_name(self.module.path, row.name):
            reason = DECLINED
        code = KEPT if reason in (KEPT_HERE, KEPT_ALONG, DECLINED) else row.code
        self._note(node, row.name, row.replacement, code, reason or row.told)

    def lack(self, unknown: UnknownName) -> None:
        """Notes a name that JAX lacks and the table does not have."""
        if not self.wanted.selects("JM419"):
            return
        if asked_at(self.module.text, (unknown.node.lineno,), "JM419"):
            self._note(unknown.node, unknown.name, "", KEPT, KEPT_HERE)
            return
        self._note(unknown.node, unknown.name, "", "JM419", f"jax {newest_jax()} has no {unknown.name}")

    def _note(self, node: ast.expr | ast.alias, name: str, replacement: str, code: str, reason: str) -> None:
        self.seen.append(Seen(node.lineno, self.module.column(node), name, replacement, code, reason))

    def told(self) -> tuple[Seen, ...]:
        """All that was noted, by place."""
        return tuple(sorted(set(self.seen), key=lambda one: (one.line, one.column, one.name)))

    def name_of(self, dotted: str, at: ast.AST, base: ReferenceNode | None = None) -> str | None:
        """Source that denotes a public name of JAX at a place; None where the file has no room for an import.

        `base` is the expression that stands there now: what it reads an attribute of serves again if it can.
        """
        parent, _, last = dotted.rpartition(".")
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name | ast.Attribute):
            if denotes(base.value, self.resolver, self.module) == parent:
                return f"{ast.unparse(base.value)}.{last}"
            root = base.value
            while isinstance(root, ast.Attribute) and isinstance(root.value, ast.Name | ast.Attribute):
                root = root.value
            loaded = self._needs_no_import(dotted) or parent in self.loaded or dotted in self.loaded
            if loaded and denotes(root, self.resolver, self.module) == "jax":
                return dotted.replace("jax", ast.unparse(root), 1)
        present = bound_name(self.module, dotted)
        if present is not None and self._means(present, at):
            return present
        if self._needs_no_import(dotted):
            return self._qualified("jax", dotted, at)
        return self._qualified(parent, dotted, at)

    def imported_name(self, dotted: str, at: ast.AST) -> str | None:
        """A name of its own for a public name of JAX, imported if need be: `P`, `Mesh`."""
        present = bound_name(self.module, dotted)
        if present is not None and self._means(present, at):
            return present
        return self._import(dotted, at)

    @staticmethod
    def _needs_no_import(dotted: str) -> bool:
        return dotted.partition(".")[0] == "jax" and not dotted.startswith(NOT_LOADED)

    def _qualified(self, root: str, dotted: str, at: ast.AST) -> str | None:
        name = bound_name(self.module, root)
        if name is None or not self._means(name, at):
            name = self._import(root, at)
        return None if name is None else name + dotted[len(root) :]

    def _import(self, dotted: str, at: ast.AST) -> str | None:
        if dotted in self.added:
            self.added[dotted].uses.append(at)
            return self.added[dotted].name
        if not has_jax_import(self.module):
            return None
        last = dotted.rpartition(".")[2]
        called = (last, f"{last}_lib") if last.islower() else (last,)  # as in `dynamic_scale as dynamic_scale_lib`
        is_same = imports_only(self.module, last, dotted)
        name = last if is_same else free_name(SHORT.get(dotted, called), self.taken)
        self.taken.add(name)
        self.added[dotted] = Added(name, [at])
        return name

    def _means(self, name: str, at: ast.AST) -> bool:
        """Whether a name of the module's top is not hidden by another one at a place."""
        scope = self.module.table.scope_of.get(at)
        return scope is None or scope.lookup(name) is self.module.table.root

    def helper(self, name: str, lines: list[str], use: ast.AST) -> str:
        """The name of a function that is written out below the file's imports."""
        if name not in self.helpers:
            free = free_name((name,), self.taken)
            self.taken.add(free)
            self.helpers[name] = [line.replace(f"def {name}(", f"def {free}(", 1) for line in lines]
        self.uses.append(use)
        return self.helpers[name][0].removeprefix("def ").partition("(")[0]

    def quoted(self, text: str) -> str:
        """The source of a string, in new code."""
        return f'"{text}"' if text.isidentifier() else repr(text).replace("$", r"\x24")

    def planned(self) -> list[Operation]:
        """All operations on the file."""
        imports = [one.statement(dotted) for dotted, one in self.added.items()]
        uses = tuple(self.uses)
        helpers = [Define("\n".join([*lines, ""]), uses) for lines in self.helpers.values()]
        return [*self.operations, *imports, *helpers]

    def is_read_elsewhere(self, name: str) -> bool:
        """Whether a name of the module's top may be of use to others: imported, listed, or in a package."""
        return name in self.imported | self.in_quotes or name in self._listed or self.module.is_package

    def unread(self, alias: ast.alias, name: str) -> bool:
        """Whether nothing is left that reads the name which an import binds."""
        loads: Iterable[ast.Name] = (n for n in self.module.table.references if isinstance(n, ast.Name))
        return alias.name != "*" and name not in self.in_quotes and all(n in self.gone or n.id != name for n in loads)
