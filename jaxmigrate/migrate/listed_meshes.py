"""Meshes of lists of devices that a program chooses when it runs: made once, behind the statement that makes the list.

A list that a function is given has its mesh at the beginning of that function, one that an object keeps has it beside.
One that comes from another file stands in the mesh wherever that is needed: JAX makes each mesh once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterator

from jaxmigrate.flow.layout.device_idents import class_of, root_of, settled, stores_of
from jaxmigrate.flow.layout.listed_devices import ListedDevices, scope_of
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import After, Before, First, Operation, code
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.values import Class, External

ATTRIBUTE = "_mesh"  # of an object that keeps a list of devices


class ListedMeshes:
    """The meshes of one file; `node` is the operation on arrays that is written now."""

    def __init__(
        self, module: Module, lists: ListedDevices, names: FileNames, operations: list[Operation], quote: str
    ) -> None:
        self.module = module
        self.lists = lists
        self.names = names
        self.operations = operations
        self.quote = quote
        self.node: ast.expr | None = None
        self._with_mesh: list[ast.ClassDef] = []
        self._named_in: list[tuple[str, Scope]] = []
        self._made: dict[Hashable, str] = {}
        self._above_first: dict[Hashable, Before] = {}

    def here(self, axis: str) -> str:
        """The source of the mesh for the operation's arrays, along an axis; empty where a map lays them out."""
        listed = self._listed()
        return self._mesh(self.node, listed, axis) if listed is not None else ""

    def count(self, axis: str) -> str:
        """The source of how many devices that are; a list that is made for its mesh alone has no name."""
        listed = self._listed()
        assert listed is not None  # else its arrays stay stacked
        if self._is_alone(listed):
            return f"{self._mesh(self.node, listed, axis)}.size"
        return self.lists.number(ast.unparse(listed))

    def _listed(self) -> ast.expr | None:
        ident = self.lists.of(self.node, self.module) if self.node is not None else None
        if self.node is None or ident is None:
            return None
        return self.lists.expression(self.node, self.module, ident)

    def of_site(self, site: MappedSite, axis: str) -> str:
        """The source of the mesh of a map."""
        listed = self.lists.at_site(site)
        assert listed is not None
        return self._mesh(site.node, listed, axis)

    def _mesh(self, node: ast.expr | None, listed: ast.expr, axis: str) -> str:
        if self._is_alone(listed):
            return self._above(listed, axis)
        made = self._source(listed, axis)
        kept = self._kept(listed, node, made, axis) if isinstance(listed, ast.Attribute) and node is not None else made
        if kept == made and not self.lists.starts_backend and node is not None:
            return self._late(listed, node, made)
        if not isinstance(listed, ast.Name):
            return kept
        scope = scope_of(node, self.module) if node is not None else None
        holder = scope.lookup(listed.id) if scope is not None else None
        if holder is None:
            return made
        key = (id(holder), listed.id, axis)
        if key not in self._made:
            self._made[key] = self._named(listed.id, holder, made) or made
        return self._made[key]

    def _late(self, listed: ast.expr, node: ast.expr, made: str) -> str:
        """A mesh of so many devices as a number says, above what needs it first: none is asked for before that."""
        root, scope = root_of(listed), scope_of(node, self.module)
        holder = scope.lookup(root) if scope is not None else None
        if scope is None or holder is None:
            return made
        function = scope.function()
        user = function if holder.kind == "module" and function is not None else holder
        given = settled(root, holder, self.module) if user is holder else None
        block = self.module.table.block_of(given) if given is not None else getattr(user.node, "body", [])
        statement = self.module.table.statement_of(node)
        while statement is not None and statement not in block:
            statement = self.module.table.statement_of(self.module.table.parents[statement])
        if statement is None or (given is not None and block.index(statement) <= block.index(given)):
            return made
        key = (user.node, made)
        if key not in self._made:
            is_function = isinstance(user.node, ast.FunctionDef | ast.AsyncFunctionDef)
            self._made[key] = self.names.local(user.node if is_function else None, "mesh")
        before = self._above_first.get(key)
        if before is None or block.index(statement) < block.index(before.statement):
            if before is not None:
                self.operations.remove(before)
            self._above_first[key] = Before(statement, code(f"{self._made[key]} = {made}"))
            self.operations.append(self._above_first[key])
        return self._made[key]

    def _source(self, listed: ast.expr, axis: str) -> str:
        """The source of the mesh of a list."""
        jax, numpy = (self.names.of(one) if self.lists.is_counted else "" for one in ("jax", "numpy"))
        devices = self.lists.source(ast.unparse(listed), jax, numpy)
        return f"{self.names.of('jax.sharding.Mesh')}({devices}, ({self.quote}{axis}{self.quote},))"

    def _kept(self, listed: ast.Attribute, node: ast.expr, made: str, axis: str) -> str:
        """A mesh in an attribute, behind the statement in `__init__` that gives that of its list its value."""
        stores = stores_of(self.lists.resolver).get(listed.attr, [])
        store = stores[0][0] if len(stores) == 1 and stores[0][1] is self.module else None
        cls = class_of(node, self.module)
        if store is None or cls is None or class_of(store, self.module) is not cls:
            return made
        key = (cls, listed.attr, axis)
        if key not in self._made:
            self._made[key] = made
            statement = self.module.table.statement_of(store)
            if statement is not None and cls not in self._with_mesh and self._can_keep(cls, store):
                self._with_mesh.append(cls)
                owner, text = ast.unparse(store.value), self._source(store, axis)
                self.operations.append(After(statement, code(f"{owner}.{ATTRIBUTE} = {text}")))
                self._made[key] = f"{ast.unparse(listed.value)}.{ATTRIBUTE}"
        return self._made[key]

    def _can_keep(self, cls: ast.ClassDef, store: ast.Attribute) -> bool:
        """Whether objects of a class can have one attribute more, from `__init__` on, which nothing else knows."""
        function, resolver = self.module.table.function_of(store), self.lists.resolver
        in_init = isinstance(function, ast.FunctionDef) and function.name == "__init__"
        bases = [value for base in cls.bases for value in resolver.values(base, self.module)]
        plain = all(isinstance(one, Class) or one == External("builtins.object") for one in bases)
        taken = any(ATTRIBUTE in one.text or "__slots__" in one.text for one in resolver.project.program)
        return in_init and plain and not taken and not (cls.decorator_list or cls.keywords)

    def _is_alone(self, listed: ast.expr) -> bool:
        """Whether a list is made where it is used, and has no name."""
        return listed is self.lists.given and not isinstance(listed, ast.Name | ast.Attribute)

    def _above(self, listed: ast.expr, axis: str) -> str:
        """The name of a mesh above the statement that makes its list for itself alone."""
        statement = self.module.table.statement_of(listed)
        assert statement is not None
        if (id(listed), axis) not in self._made:
            name = self._made[id(listed), axis] = self.names.local(self.module.table.function_of(listed), "mesh")
            made = f"{self.names.of('jax.sharding.Mesh')}($listed, ({self.quote}{axis}{self.quote},))"
            self.operations.append(Before(statement, code(f"{name} = {made}", listed=listed)))
        return self._made[id(listed), axis]

    def _named(self, listed: str, holder: Scope, made: str) -> str:
        """The name of a mesh behind what makes its list; empty where that is elsewhere, or the name is taken."""
        of_what = re.sub("_?devices$", "", listed, flags=re.IGNORECASE) if len(self.lists.idents) > 1 else ""
        name = f"{of_what}_mesh" if of_what else "mesh"
        name = name.upper() if listed.isupper() else name
        if name in self.names.taken or any(_meets(holder, other) for one, other in self._named_in if one == name):
            return ""
        statement = settled(listed, holder, self.module)
        if statement is not None:
            self.operations.append(After(statement, code(f"{name} = {made}")))
        elif holder.kind == "function" and isinstance(holder.node, ast.FunctionDef) and self._is_given(listed, holder):
            self.operations.append(First(holder.node, code(f"{name} = {made}")))
        else:
            return ""
        self._named_in.append((name, holder))
        return name

    @staticmethod
    def _is_given(listed: str, holder: Scope) -> bool:
        return [one.kind for one in holder.bindings[listed]] == ["param"]


def _meets(one: Scope, other: Scope) -> bool:
    """Whether what one scope binds is seen in another, or the reverse."""
    return one in _around(other) or other in _around(one)


def _around(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent
