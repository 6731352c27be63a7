"""What a rewrite leaves without a use: imports, counts of devices and small functions that only the old form needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from jaxmigrate.codemod.style import Style
from jaxmigrate.migrate.pmap_names import calls_pmap, path_of, without_pmap_names
from jaxmigrate.migrate.read_texts import ReadTexts
from jaxmigrate.migrate.second_names import without_second_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import DropAlias, DropStatement, Operation
from jaxmigrate.program.scopes import Scope
from jaxmigrate.sources import JOINED

MOST_ROUNDS = 16


def without_leftovers(before: Module, after: str, kept: frozenset[str], style: Style, read: ReadTexts) -> str:
    """The text after a rewrite without what it alone left unused; `kept` are names that other modules import.

    What nobody used before stays, and so does what a string or `__all__` names.
    """
    from jaxmigrate.codemod.apply import rewritten
    from jaxmigrate.codemod.said import reworded_text

    used, counted = _loaded(before) - kept, _counts_read(before)
    path = before.path if before.cells or before.path.suffix not in JOINED else Path("after.py")
    module = read.module(path, after)
    for ask in (without_second_names, without_pmap_names):
        if changes := list(ask(before, module)):
            read.forget(module)
            after = rewritten(after, changes, style, statements=module.tree.body)
            module = read.module(path, after)
    if not calls_pmap(module) and (text := reworded_text(after)) != after:
        read.forget(module)
        after = text
    for _ in range(MOST_ROUNDS):
        module = read.module(path, after)
        if before.is_package:
            return after
        unused = _written(used - _loaded(module), after) - _quoted(module)
        operations = list(_leftovers(module, unused)) if unused else []
        operations += _unread_counts(module, counted, unused)
        if not operations:
            return after
        read.forget(module)
        after = rewritten(after, operations, style, statements=module.tree.body)
    return after


def _loaded(module: Module) -> set[str]:
    """The names that a module reads."""
    return {n.id for n in module.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _written(names: set[str], text: str) -> set[str]:
    """Those of some names that a text may bind: a letter that is no ASCII can stand for one that is."""
    return {name for name in names if name in text} if text.isascii() else names


def _quoted(module: Module) -> set[str]:
    return {n.value for n in module.nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _leftovers(module: Module, unused: set[str]) -> Iterator[Operation]:
    """The operations that drop each thing that is bound to an unused name."""
    for scope in {id(s): s for s in module.table.own_scope.values()}.values():
        for name in sorted(unused & set(scope.bindings)):
            bindings = scope.bindings[name]
            if len(bindings) == 1 and name not in scope.outer_names and scope.kind != "class":
                yield from _dropped(bindings[0].node, scope, name, module)


def _counts_read(module: Module) -> dict[str, set[str]]:
    """By function: the variables in it that hold the number of devices, and that it reads."""
    found: dict[str, set[str]] = {}
    for scope in module.table.own_scope.values() if "device" in module.text else ():
        if scope.kind == "function" and isinstance(scope.node, ast.FunctionDef):
            counts = {name for name, (one, *_) in scope.bindings.items() if _is_count(one.node)}
            found.setdefault(path_of(scope), set()).update(n for n in counts if _is_read(n, scope, module))
    return {path: names for path, names in found.items() if names}


def _unread_counts(module: Module, counted: Mapping[str, set[str]], unused: set[str]) -> Iterator[Operation]:
    """The operations that drop numbers of devices that a function read before; other functions may have such names."""
    for scope in module.table.own_scope.values() if counted else ():
        for name in counted.get(path_of(scope), set()) - unused if isinstance(scope.node, ast.FunctionDef) else ():
            bindings = scope.bindings.get(name, ())
            if len(bindings) == 1 and _is_count(bindings[0].node) and not _is_read(name, scope, module):
                yield from _dropped(bindings[0].node, scope, name, module)


def _is_count(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and _counts(node)


def _is_read(name: str, scope: Scope, module: Module) -> bool:
    """Whether a variable of a scope is read, in functions within it too."""
    reads = (n for n in module.table.named.get(name, ()) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return any(module.table.scope_of[n].lookup(name) is scope for n in reads)


def _dropped(node: ast.AST, scope: Scope, name: str, module: Module) -> Iterator[Operation]:
    if isinstance(node, ast.alias):
        yield from _unused_import(node, module)
        return
    inside = scope.kind == "function"
    helper = isinstance(node, ast.FunctionDef) and (inside or name.startswith("_")) and not node.decorator_list
    count = isinstance(node, ast.Assign) and inside and _counts(node)
    helper |= isinstance(node, ast.Assign) and inside and len(node.targets) == 1 and isinstance(node.value, ast.Lambda)
    if isinstance(node, ast.stmt) and (helper or count) and len(module.table.block_of(node)) > 1:
        yield DropStatement(node, commented=helper)


def _counts(node: ast.Assign) -> bool:
    """Whether an assignment holds the number of devices: nothing is lost with it."""
    text = ast.unparse(node.value)
    return len(node.targets) == 1 and text.endswith(("device_count()", "devices()", "devices())")) and "=" not in text


def _unused_import(alias: ast.alias, module: Module) -> Iterator[Operation]:
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom) and alias in statement.names and statement.module != "__future__":
            yield DropAlias(statement, alias)
        if isinstance(statement, ast.Import) and alias in statement.names and not _loads_more(alias, module):
            yield DropAlias(statement, alias)


def _loads_more(alias: ast.alias, module: Module) -> bool:
    """Whether an import may be what loads a submodule that other code goes to by the name of its package."""
    if alias.asname is None:
        return "." in alias.name
    *_, last = alias.name.rpartition(".")
    named = (n for n in module.table.named.get(last, ()) if isinstance(n, ast.Attribute))
    return "." in alias.name and any(ast.unparse(n) == alias.name for n in named)
