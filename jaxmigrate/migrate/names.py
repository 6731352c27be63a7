"""What a file calls the things that new code uses, and the imports that bind what it lacks."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from jaxmigrate.migrate.imports import bound_name, free_name, has_jax_import, imports_only, is_jax, used_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Import

PROPOSALS = {
    "jax.sharding.PartitionSpec": ("P", "PartitionSpec"),
    "jax.numpy": ("jnp",),
    "numpy": ("np", "onp"),
}
PLAIN = frozenset({"jax", "functools", "jax.numpy", "numpy"})  # which are imported as modules
FUNCTOOLS = frozenset({"cache", "lru_cache", "partial", "wraps"})  # what new code uses of it
NAMING = frozenset({"locals", "vars", "eval", "exec"})  # what may read any name of a function
WORD = re.compile(r"\w+")


class FileNames:
    """The names of one file; what has to be imported for them is noted as it is asked for."""

    def __init__(self, module: Module, released: Collection[str] = (), starred: Collection[str] = ()) -> None:
        """`released` are names of imports that nothing uses any more, `starred` those that star imports bring."""
        self.module = module
        self.taken = {*used_names(module), *starred} - (set(released) - _inner_names(module))
        self._used = frozenset(self.taken)  # before new code takes any
        self._known: dict[str, str] = {}
        self._new: set[str] = set()  # names that new code binds at the file's top
        self._local: dict[ast.AST, set[str]] = {}  # by function, the names that it has
        self._imports: dict[str, Import] = {}

    @property
    def can_import(self) -> bool:
        """Whether the file has imports at its head, beside which others can stand, and does not put off that of jax."""
        return has_jax_import(self.module) and not self._is_lazy()

    def _is_lazy(self) -> bool:
        """Whether only functions import jax."""
        found = [statement for statement in self.module.table.import_statements if is_jax(statement)]
        return bool(found) and all(self._is_in_function(n) for n in found)

    def _is_in_function(self, node: ast.AST) -> bool:
        parent = self.module.table.parents.get(node)
        while parent is not None and not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            parent = self.module.table.parents.get(parent)
        return parent is not None

    def of(self, dotted: str) -> str:
        """What the file calls something, from now on if not already."""
        if dotted not in self._known:
            self._known[dotted] = self._bound(dotted) or self._qualified(dotted) or self._imported(dotted)
        return self._known[dotted]

    def _bound(self, dotted: str) -> str | None:
        """The name that the file's imports have for something; one that comes late is imported at its head as well."""
        name = bound_name(self.module, dotted)
        if name is not None and self._comes_late(name):
            parent, _, last = dotted.rpartition(".")
            self._imports[dotted] = (
                Import(dotted, "", name if name != dotted else "")
                if dotted in PLAIN or not parent
                else Import(parent, last, name if name != last else "")
            )
        return name

    def _comes_late(self, name: str) -> bool:
        """Whether a name is imported below some code only, above which new functions may stand."""
        if self.module.cells:
            return False
        first = next((s.lineno for s in self.module.tree.body if not _is_import_or_text(s)), None)
        places = [b.node.lineno for b in self.module.table.root.bindings[name] if isinstance(b.node, ast.alias)]
        return first is not None and bool(places) and min(places) > first

    def _qualified(self, dotted: str) -> str | None:
        """`jax.numpy` and `functools.partial` where their packages are imported."""
        if dotted == "jax.numpy" and self.module.text:
            return f"{self.of('jax')}.numpy"
        if dotted == "functools.partial" or dotted.startswith("functools."):
            owner = self._bound("functools")
            return dotted.replace("functools", owner) if owner is not None else None
        if dotted in ("jax.jit", "jax.shard_map", "jax.tree", "jax.device_put"):
            return dotted.replace("jax", self.of("jax"), 1)
        return None

    def _imported(self, dotted: str) -> str:
        parent, _, last = dotted.rpartition(".")
        if parent == "functools" and not self._takes_from_functools():
            return dotted.replace("functools", self.of("functools"))
        is_same = imports_only(self.module, last, dotted)
        name = last if is_same else self.free(*PROPOSALS.get(dotted, (last,)))
        asname = name if name != last else ""
        self._imports[dotted] = Import(dotted, "", asname) if dotted in PLAIN else Import(parent, last, asname)
        return name

    def _takes_from_functools(self) -> bool:
        """Whether the file imports names of functools, not functools itself, and has no other things of such names."""
        found = [one for one in self.module.tree.body if isinstance(one, ast.ImportFrom) and one.module == "functools"]
        own = {alias.name for one in found for alias in one.names if alias.asname is None}
        return bool(found) and not self.module.cells and self._used.isdisjoint(FUNCTOOLS - own)

    def import_from(self, module: str, name: str, *others: str) -> str:
        """What the file calls a function that it imports from a module of the project, by its name or by others."""
        key = f"{module}:{name}"
        if key not in self._known:
            chosen = self.free(name, *others)
            self._imports[key] = Import(module, name, chosen if chosen != name else "", own=True)
            self._known[key] = chosen
        return self._known[key]

    def free(self, *proposals: str) -> str:
        """A name that nothing in the file has, taken from then on."""
        name = free_name(proposals, self.taken)
        self.taken.add(name)
        self._new.add(name)
        return name

    def local(self, function: ast.AST | None, *proposals: str) -> str:
        """A name that nothing in an outermost function has, and no new code outside of it; without one, a free name."""
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return self.free(*proposals)
        if function not in self._local:
            lines = self.module.lines[function.lineno - 1 : function.end_lineno]
            self._local[function] = set(WORD.findall("\n".join(lines)))
        name = free_name(proposals, self._local[function] | self._new | set(self._known.values()))
        self._local[function].add(name)
        self.taken.add(name)  # which new code outside would hide
        return name

    def adopt(self, other: FileNames) -> None:
        """Takes over the names of another writer of the same file, whose imports are its own to add."""
        self._known |= other._known
        self.taken |= other.taken

    def imports(self) -> Iterator[Import]:
        """The imports that the file needs."""
        yield from self._imports.values()


def names_in(nodes: Sequence[ast.AST]) -> Iterator[ast.Name]:
    """The names that some expressions read."""
    for node in nodes:
        yield from (n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _inner_names(module: Module) -> set[str]:
    """The names that functions and classes of a module bind, which hide those of the module in them."""
    root = module.table.root
    return {name for scope in module.table.own_scope.values() if scope is not root for name in scope.bindings}


def _is_import_or_text(statement: ast.stmt) -> bool:
    """Whether a statement is an import or a docstring, above which no new function stands."""
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.Import | ast.ImportFrom)
