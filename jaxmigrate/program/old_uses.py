"""Where a module uses a name of JAX that the table of old names has: in imports and in expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_mentions import may_use_old_names
from jaxmigrate.program.old_names import OldName, last_parts, row_of
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.sites import ReferenceNode, denotes
from jaxmigrate.program.syntax import last_name
from jaxmigrate.records import record

Statement: TypeAlias = ast.Import | ast.ImportFrom
SETS = frozenset({"setattr", "patch", "object"})  # `mock.patch.object(jax, "host_id")`
OWNERS = ("jax.", "flax.", "equinox.", "objax.")
ABSENT = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "NameError"})


@record(eq=False)
class OldImport:
    """An import of an old name, or of something below an old module; `below` is what stands below the row's name."""

    module: Module
    alias: ast.alias
    statement: Statement
    row: OldName
    below: str

    @property
    def local(self) -> str:
        """The name that it binds."""
        return self.alias.asname or self.alias.name.partition(".")[0]


@record(eq=False)
class OldReference:
    """An expression that denotes an old name through imports alone."""

    module: Module
    node: ReferenceNode
    row: OldName


class Uses(NamedTuple):
    """The old names that a module uses and that nothing guards."""

    imports: list[OldImport]
    references: list[OldReference]


@once_each
def unguarded_uses(module: Module, resolver: Resolver) -> Uses:
    """The uses of old names whose failure nothing catches, and which the program gives no other meaning."""
    given = _replaced(resolver)
    imports = [use for use in old_imports(module) if not is_guarded(use.statement, module)]
    references = [use for use in old_references(module, resolver) if not is_guarded(use.node, module)]
    if given:
        references = [use for use in references if denotes(use.node, resolver, module) not in given]
        imports = [use for use in imports if _full_name(use.alias, use.statement) not in given]
    return Uses(imports, references)


def _full_name(alias: ast.alias, statement: Statement) -> str:
    """The dotted name of what an import brings in."""
    return f"{statement.module}.{alias.name}" if isinstance(statement, ast.ImportFrom) else alias.name


@once
def _replaced(resolver: Resolver) -> frozenset[str]:
    """The names of JAX that the program itself sets, as a shim or a test does: `jax.tree_map = jax.tree.map`."""
    modules = (one for one in resolver.project.program if may_use_old_names(one.text))
    return frozenset(name for module in modules for name in _set_names(module, resolver))


def _set_names(module: Module, resolver: Resolver) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in last_parts():
            name = denotes(node, resolver, module)
            if name is not None:
                yield name
    for call in module.table.calls:
        if last_name(call.func) not in SETS:
            continue
        match call.args:
            case [ast.Constant(value=str(name)), *_]:
                yield name
            case [(ast.Name() | ast.Attribute()) as owner, ast.Constant(value=str(name)), *_]:
                home = denotes(owner, resolver, module)
                yield f"{home}.{name}"


def old_imports(module: Module) -> list[OldImport]:
    """The imports of old names of a module, also those that only a failed import leads to."""
    if not may_use_old_names(module.text):
        return []
    return [use for statement in module.table.import_statements for use in _in_statement(statement, module)]


def _in_statement(statement: Statement, module: Module) -> Iterator[OldImport]:
    if isinstance(statement, ast.ImportFrom) and (statement.level or not statement.module):
        return
    for alias in statement.names:
        full = _full_name(alias, statement)
        found = row_of(full) if full.startswith(OWNERS) else None
        if found is not None:
            yield OldImport(module, alias, statement, *found)


def old_references(module: Module, resolver: Resolver) -> list[OldReference]:
    """The expressions of a module that denote old names, without those that are a part of another one."""
    if not (may_use_old_names(module.text) or module.table.star_imports):
        return []
    found = {}
    for node in _candidates(module):
        name = denotes(node, resolver, module)
        row = row_of(name) if name is not None else None
        if row is not None and not row[1]:
            found[node] = OldReference(module, node, row[0])
    parts = {reference.node.value for reference in found.values() if isinstance(reference.node, ast.Attribute)}
    return [reference for node, reference in found.items() if node not in parts]


def _candidates(module: Module) -> list[ReferenceNode]:
    """A cheap choice before the real one: the last part of an old name, or a name that an import of one binds."""
    table = module.table
    found: set[ReferenceNode] = {node for name in last_parts() & table.named.keys() for node in table.named[name]}
    for name in {binding.name for binding in table.imports if _imports_old(binding)}:
        for node in table.named.get(name, ()):
            holder = table.scope_of[node].lookup(name) if isinstance(node, ast.Name) else None
            if holder is not None and any(_imports_old(binding) for binding in holder.bindings[name]):
                found.add(node)
    return [node for node in table.references if node in found] if found else []


def _imports_old(binding: Binding) -> bool:
    alias = binding.node
    return isinstance(alias, ast.alias) and alias.name.rpartition(".")[2] in last_parts()


def is_guarded(node: ast.AST, module: Module) -> bool:
    """Whether a failure of what stands here is caught, as where a program runs on several releases of JAX."""
    child, parent = node, module.table.parents.get(node)
    while parent is not None:
        if isinstance(parent, ast.ExceptHandler) and _catches_absence(parent):
            return True
        if isinstance(parent, ast.Try) and child in parent.body and any(map(_catches_absence, parent.handlers)):
            return True
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test and asks_for_release(parent.test):
            return True
        child, parent = parent, module.table.parents.get(parent)
    return False


def _catches_absence(handler: ast.ExceptHandler) -> bool:
    kinds = [] if handler.type is None else [n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)]
    return handler.type is None or not ABSENT.isdisjoint(kinds)


def asks_for_release(test: ast.expr) -> bool:
    """Whether a condition asks what JAX has, or which one it is."""
    return any(
        (isinstance(n, ast.Name) and n.id == "hasattr")
        or (isinstance(n, ast.Attribute | ast.Name) and "version" in (n.attr if isinstance(n, ast.Attribute) else n.id))
        for n in ast.walk(test)
    )
