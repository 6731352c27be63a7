"""Replaces old names of JAX in all files of a project together: where one file hands a name on, others go along."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.migrate.cleanup import without_leftovers
from jaxmigrate.migrate.edits import apply_edits
from jaxmigrate.migrate.imports import imported_names, insertions
from jaxmigrate.migrate.neighbours.desk import Desk, Seen
from jaxmigrate.migrate.neighbours.renames import rename
from jaxmigrate.migrate.neighbours.statements import rewrite_statement
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module, Project, parse_module, read_utf8
from jaxmigrate.program.old_names import Release, old_words
from jaxmigrate.program.old_uses import OldImport, Statement, is_guarded, old_imports, old_references
from jaxmigrate.program.resolve import Resolver


class Renewed(NamedTuple):
    """A file after its old names were replaced, and each use that there was, replaced or left."""

    text: str
    seen: tuple[Seen, ...]


def renew(texts: Mapping[Path, str], target: Release | None) -> dict[Path, Renewed]:
    """Replaces old names in the files of a project; the result has those files that use any and parse."""
    modules: dict[Path, Module] = {}
    for path, text in texts.items():
        if old_words().search(text):
            try:
                modules[path] = parse_module(path, text)
            except (SyntaxError, ValueError, RecursionError):
                continue
    resolver = Resolver(Project(modules.values(), lambda path: texts.get(path) or read_utf8(path), texts))
    imported = imported_names(tuple(modules.values()), resolver)
    found = {
        path: _renewed(module, resolver, target, imported.get(module, frozenset())) for path, module in modules.items()
    }
    return {path: one for path, one in found.items() if one.seen}


def _renewed(module: Module, resolver: Resolver, target: Release | None, imported: frozenset[str]) -> Renewed:
    imports = [u for u in old_imports(module) if u.row.holds_for(target) and not is_guarded(u.statement, module)]
    references = [
        u for u in old_references(module, resolver) if u.row.holds_for(target) and not is_guarded(u.node, module)
    ]
    if not imports and not references:
        return Renewed(module.text, ())
    desk = Desk(module, resolver, target, imported)
    renamed = rename(
        desk, [u for u in imports if u.row.how == "rename"], [u for u in references if u.row.how == "rename"]
    )
    for use in references:
        if use.row.how == "hand":
            desk.leave(use.node, use.row)
    for one in imports:
        if one.row.how == "hand":
            desk.leave(one.alias, one.row)
    _rewrite_imports(desk, imports, renamed)
    return Renewed(_text_of(desk), tuple(sorted(set(desk.seen), key=lambda s: (s.line, s.column, s.name))))


def _rewrite_imports(desk: Desk, imports: Sequence[OldImport], changed: Mapping[ast.alias, str]) -> None:
    by_statement: dict[Statement, dict[ast.alias, str]] = defaultdict(dict)
    for use in imports:
        if use.alias in changed:
            by_statement[use.statement][use.alias] = changed[use.alias]
    for statement, names in by_statement.items():
        rewrite_statement(desk, statement, names)


def _text_of(desk: Desk) -> str:
    module = desk.module
    edits = desk.edits
    if desk.added:
        edits = [*edits, *insertions(module, desk.positions, desk.statements(), style_of(module).newline)]
    after = apply_edits(module.text, edits)
    return without_leftovers(module, after, desk.imported) if edits else after
