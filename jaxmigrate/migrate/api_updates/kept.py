"""Which uses of old names stay because a comment asks for it: those on its line, and what they share an import with."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jaxmigrate.migrate.api_updates.rewrite_context import is_kept
from jaxmigrate.migrate.wanted import Wanted
from jaxmigrate.program.old_uses import OldImport, OldReference, Uses


class Parted(NamedTuple):
    """The uses that change, those that a comment keeps, and those that stay with these."""

    changing: Uses
    asked: Uses
    along: Uses


def parted(uses: Uses, wanted: Wanted) -> Parted:
    """Sets apart what stays: an import that is needed keeps all that goes through it."""
    asked = Uses(
        [u for u in uses.imports if is_kept(u.alias, u.row, u.module, wanted)],
        [u for u in uses.references if is_kept(u.node, u.row, u.module, wanted)],
    )
    if not any(asked):
        return Parted(uses, asked, Uses([], []))
    imports, references = list(asked.imports), list(asked.references)
    for _ in uses.imports:  # as many rounds as an import can be away
        imports = [i for i in uses.imports if i in imports or any(_binds(i, r) for r in references)]
        references = [r for r in uses.references if r in references or any(_binds(i, r) for i in imports)]
    return Parted(
        Uses([i for i in uses.imports if i not in imports], [r for r in uses.references if r not in references]),
        asked,
        Uses([i for i in imports if i not in asked.imports], [r for r in references if r not in asked.references]),
    )


def _binds(one: OldImport, reference: OldReference) -> bool:
    """Whether an import binds the name by which a reference begins."""
    if isinstance(one.statement, ast.Import) and one.alias.asname is None:
        return f"{reference.module.segment(reference.node)}.".startswith(f"{one.alias.name}.")
    root: ast.expr = reference.node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id == one.local
