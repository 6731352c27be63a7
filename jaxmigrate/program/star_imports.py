"""`from module import *`: which names it brings to a module, and from where."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.modules import Module, Project


def stars(project: Project, module: Module) -> Iterator[tuple[ast.ImportFrom, Module | None]]:
    """The star imports of a module, with the module of the project that each is from."""
    for node in module.table.star_imports:
        yield node, project.imported(module, node.module or "", node.level)


def star_homes(project: Project, module: Module, name: str) -> list[Module]:
    """The modules whose name `from module import *` brings in: that one, or what it imports so itself."""
    pending, seen, found = [module], {module}, list[Module]()
    while pending:
        current = pending.pop()
        if name in current.table.root.bindings:
            found.append(current)
            continue
        news = {source for _, source in stars(project, current) if source is not None} - seen
        seen |= news
        pending += news
    return found


def starred_names(project: Project, module: Module) -> set[str]:
    """All names that star imports bring to a module from others of the project, directly or by way of others."""
    pending, seen = [module], {module}
    found = set[str]()
    while pending:
        news = {source for _, source in stars(project, pending.pop()) if source is not None} - seen
        found.update(name for source in news for name in source.table.root.bindings)
        seen |= news
        pending += news
    return found
