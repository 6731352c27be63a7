"""Plain renames: an old name gives way to the new one, in imports and in expressions, and nothing else changes."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Mapping, Sequence

from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.program.old_names import row_of
from jaxmigrate.program.old_uses import OldImport, OldReference
from jaxmigrate.program.operations import Import

NO_PLACE = " (the file has no import at its top for fix to add one beside; write it by hand)"


def rename_reference(desk: RewriteContext, use: OldReference) -> bool:
    """Replaces an expression by one that denotes the new name; False where a new import has no place."""
    if isinstance(use.node, ast.Name) and keeps_its_name(use.node.id, desk):
        return True
    text = desk.name_of(use.row.replacement, use.node, use.node)
    if text is None:
        return False
    desk.replace(use.node, text)
    return True


def keeps_its_name(name: str, desk: RewriteContext) -> bool:
    """Whether the import that binds a name will bind it to the new thing, so that its uses stay as they are."""
    bindings = desk.module.table.root.bindings.get(name, [])
    found = [b.node for b in bindings if b.kind == "from" and isinstance(b.node, ast.alias)]
    return not bindings or len(found) < len(bindings) or any(_stays(alias, desk) for alias in found)


def _stays(alias: ast.alias, desk: RewriteContext) -> bool:
    statement = desk.module.table.parents.get(alias)
    if not isinstance(statement, ast.ImportFrom) or statement.level:
        return True  # of another module of the project, which imports the new thing under the old name
    found = row_of(f"{statement.module}.{alias.name}")
    return found is None or new_import(alias, found[0].replacement + found[1], desk) is not None


def new_import(alias: ast.alias, dotted: str, desk: RewriteContext) -> Import | None:
    """The import that binds what an old from-import bound to the new name; None where uses are better rewritten."""
    parent, _, last = dotted.rpartition(".")
    local = alias.asname or alias.name
    if local != last and alias.asname is None and not desk.is_read_elsewhere(local):
        return None
    return Import(parent, last, "" if local == last else local)


def new_imports(desk: RewriteContext, imports: Iterable[OldImport]) -> Mapping[ast.alias, Import | None]:
    """By alias, what is imported in the place of a renamed import; None where the name is no longer needed."""
    found: dict[ast.alias, Import | None] = {}
    for use in imports:
        dotted = use.row.replacement + use.below
        if isinstance(use.statement, ast.Import):
            found[use.alias] = Import(dotted, asname=use.alias.asname or "")
            continue
        new = new_import(use.alias, dotted, desk)
        if _is_bound_again(use, desk):
            found[use.alias] = None
        elif new is not None:
            found[use.alias] = new
        elif desk.unread(use.alias, use.local):
            found[use.alias] = None
    return found


def _is_bound_again(use: OldImport, desk: RewriteContext) -> bool:
    """Whether a further import binds the name that an import binds, before anything else runs."""
    body = desk.module.tree.body
    if use.statement not in body:
        return False
    below = itertools.takewhile(_imports, body[body.index(use.statement) + 1 :])
    return any(use.local in _bound_by(statement) for statement in below)


def _imports(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _bound_by(statement: ast.stmt) -> set[str]:
    """The names that an import binds, but for those that it does not tell."""
    names = statement.names if isinstance(statement, ast.Import | ast.ImportFrom) else []
    return {alias.asname or alias.name.partition(".")[0] for alias in names}


def rename(
    desk: RewriteContext, imports: Sequence[OldImport], references: Sequence[OldReference]
) -> Mapping[ast.alias, Import | None]:
    """Renames all that rows of the kind `rename` name in a module; gives what its import statements become."""
    plain = [u for u in imports if isinstance(u.statement, ast.Import) and u.alias.asname is None]
    desk.loaded |= {use.row.replacement + use.below for use in plain}
    for use in references:
        if rename_reference(desk, use):
            desk.done(use.node, use.row)
        else:
            desk.leave(use.node, use.row, f"{use.row.told}{NO_PLACE}")
    changed = new_imports(desk, imports)
    for one in imports:
        if one.alias in changed:
            desk.done(one.alias, one.row)
        else:
            desk.leave(one.alias, one.row)
    return changed
