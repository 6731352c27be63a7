"""Where a module uses a name of JAX that the table of old names has: in imports and in expressions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from jaxmigrate.program.combined import canonical
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_mentions import may_use_old_names
from jaxmigrate.program.old_names import OldName, last_parts, row_of
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.sites import ReferenceNode, denotes
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import UNKNOWN, External, ModuleValue, Value
from jaxmigrate.records import record

Statement: TypeAlias = ast.Import | ast.ImportFrom
SETS = frozenset({"setattr", "patch", "object"})  # `mock.patch.object(jax, "host_id")`
OWNERS = ("jax.", "jaxlib.", "flax.", "equinox.", "objax.")
_SETS_TEXT = re.compile(rf"""\b(?:{"|".join(SETS)})\(\s*(?:[\w.]*,\s*)?["'][\w.]*""")
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


class Replaced(NamedTuple):
    """A name that the program sets: in JAX, or as one module imports it."""

    name: str
    where: Path | None = None


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
        references = [use for use in references if not _is_set(denotes(use.node, resolver, module), module, given)]
        imports = [use for use in imports if not _is_set(_full_name(use.alias, use.statement), module, given)]
    return Uses(imports, references)


def _is_set(name: str | None, module: Module, given: frozenset[Replaced]) -> bool:
    """Whether a name is set by the program, or what it stands in is: `mock.patch("lib.jax")`, within lib alone."""
    if name is None:
        return False
    parts = name.split(".")
    owners = (".".join(parts[:n]) for n in range(1, len(parts) + 1))
    return any(Replaced(owner, where) in given for owner in owners for where in (None, module.path))


def _full_name(alias: ast.alias, statement: Statement) -> str:
    """The dotted name of what an import brings in."""
    return f"{statement.module}.{alias.name}" if isinstance(statement, ast.ImportFrom) else alias.name


def may_set_names(text: str) -> bool:
    """Whether a text may put something in the place of a name of JAX, as tests do: `mock.patch("lib.jax.host_id")`."""
    if not any(f"{word}(" in text for word in SETS):  # much faster than the pattern
        return False
    last = {re.split(r"[.\"']", call)[-1] for call in _SETS_TEXT.findall(text)}
    return "jax" in last or not last.isdisjoint(last_parts())


@once
def _replaced(resolver: Resolver) -> frozenset[Replaced]:
    """The names of JAX that the program itself sets, as a shim or a test does: `jax.tree_map = jax.tree.map`."""
    modules = (one for one in resolver.project.program if may_use_old_names(one.text) or may_set_names(one.text))
    return frozenset(name for module in modules for name in _set_names(module, resolver))


def _set_names(module: Module, resolver: Resolver) -> Iterator[Replaced]:
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in last_parts():
            name = denotes(node, resolver, module)
            if name is not None:
                yield Replaced(name)
    for call in module.table.calls:
        if last_name(call.func) not in SETS:
            continue
        match call.args:
            case [ast.Constant(value=str(name)), *_]:
                home, _, last = name.rpartition(".")
                yield from _set_in(_of_text(home, module, resolver), last, resolver)
            case [(ast.Name() | ast.Attribute()) as owner, ast.Constant(value=str(name)), *_]:
                yield from _set_in(resolver.value(owner, module), name, resolver)


def _of_text(dotted: str, module: Module, resolver: Resolver) -> Value:
    """What `mock.patch` finds by a text: a module of the project, what such a one imports, or a library's."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        found = resolver.project.imported(module, ".".join(parts[:n]))
        if found is not None:
            value: Value = ModuleValue(found)
            for part in parts[n:]:
                values = resolver.attribute(value, part)
                value = values[0] if len(values) == 1 else UNKNOWN
            return value
    return External(dotted)


def _set_in(owner: Value, name: str, resolver: Resolver) -> Iterator[Replaced]:
    """What is set by `owner.name = ...`: a name of a library for all, or what one module imports as that name."""
    if isinstance(owner, External):
        yield Replaced(canonical(f"{owner.name}.{name}"))
    elif isinstance(owner, ModuleValue):
        values = resolver.module_attribute(owner.module, name)
        yield from (Replaced(value.name, owner.module.path) for value in values if isinstance(value, External))


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
