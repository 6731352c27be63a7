"""Uses of names that the newest JAX lacks, whether the table of old names has them or not."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxmigrate.program.jax_names import missing
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_mentions import mentions
from jaxmigrate.program.old_names import row_of
from jaxmigrate.program.old_uses import is_guarded
from jaxmigrate.program.scopes import Binding


class UnknownName(NamedTuple):
    """A place, and the name that JAX lacks."""

    node: ast.alias | ast.Attribute
    name: str


def unknown_names(module: Module) -> Iterator[UnknownName]:
    """The imports and expressions of a module that name something which JAX lacks and no row of the table tells of."""
    if not mentions(module.text).lacking:
        return
    yield from _imported(module)
    named = module.table.named
    for owner in {binding.name: None for binding in module.table.imports if jax_import(binding, module)}:
        for node in _chains(named.get(owner, ()), module):
            dotted = _dotted(node, module)
            name = missing(dotted) if dotted else ""
            known = name and (row_of(name) or row_of(dotted))
            if name and not known and not _is_set(name, module) and not is_guarded(node, module):
                yield UnknownName(node, name)


def _imported(module: Module) -> Iterator[UnknownName]:
    for statement in module.table.import_statements:
        source = statement.module if isinstance(statement, ast.ImportFrom) else ""
        if source is None or (isinstance(statement, ast.ImportFrom) and statement.level):
            continue
        for alias in statement.names:
            dotted = f"{source}.{alias.name}" if source else alias.name
            name = missing(dotted) if dotted.startswith("jax.") and alias.name != "*" else ""
            if name and row_of(dotted) is None and row_of(name) is None and not is_guarded(statement, module):
                yield UnknownName(alias, name)


def _chains(names: Iterable[ast.Name | ast.Attribute], module: Module) -> Iterator[ast.Attribute]:
    """The chains of attributes that begin at some names and are read, each as far as it goes."""
    for name in names:
        node: ast.AST = name
        while isinstance(parent := module.table.parents.get(node), ast.Attribute):
            node = parent
        if isinstance(name, ast.Name) and isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node


def _dotted(node: ast.Attribute, module: Module) -> str:
    """The full name that a chain of attributes spells, if it starts at an import of JAX."""
    parts: list[str] = []
    current: ast.expr = node
    while isinstance(current, ast.Attribute):
        parts.append(current.attr)
        current = current.value
    if not isinstance(current, ast.Name):
        return ""
    holder = module.table.scope_of[current].lookup(current.id)
    bindings = holder.bindings[current.id] if holder is not None else []
    names = {jax_import(binding, module) for binding in bindings}
    name = names.pop() if len(names) == 1 else ""
    return f"{name}.{'.'.join(reversed(parts))}" if name else ""


def jax_import(binding: Binding, module: Module) -> str:
    """What of JAX a binding imports, empty where that is nothing."""
    alias = binding.node
    if not isinstance(alias, ast.alias):
        return ""
    name = alias.name if binding.kind == "from" or alias.asname else alias.name.partition(".")[0]
    if binding.kind == "from":
        statement = module.table.parents[alias]
        if not isinstance(statement, ast.ImportFrom) or statement.level:
            return ""
        name = f"{statement.module}.{name}"
    return name if name == "jax" or name.startswith("jax.") else ""


def _is_set(name: str, module: Module) -> bool:
    """Whether the program itself sets an attribute of that name on something."""
    return any(attribute.attr == name.rpartition(".")[2] for attribute in module.table.attributes)
