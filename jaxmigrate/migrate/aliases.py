"""Aliases of pmap: the sites that go by one, and the aliases that nothing needs once these show maps of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.migrate.decide import KEYWORDS, Decision, Surroundings
from jaxmigrate.migrate.inside import inside
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.operations import DropAlias, DropStatement, Operation
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite


@dataclass(frozen=True, slots=True)
class Aliased:
    """A site that goes by an alias, with what was decided of the reference that the alias stands for."""

    site: MappedSite
    root: Decision


def aliased_sites(
    sites: Mapping[Module, Sequence[MappedSite]],
    root_of: Callable[[MappedSite], Decision | None],
    resolver: Resolver,
    around: Surroundings,
) -> dict[Module, list[Aliased]]:
    """By module, the sites under aliases that may show a map of their own: none that hold maps themselves."""
    found: dict[Module, list[Aliased]] = {}
    for module, every in sites.items():
        by_node = {site.node: site for site in every}
        for site in every:
            root = root_of(site) if site.reference is None else None
            if root is None or not root.is_plain or any(a.keyword not in (*KEYWORDS, None) for a in site.arguments):
                continue
            if inside(site, by_node, resolver, around.processes) is None:
                found.setdefault(module, []).append(Aliased(site, root))
    return found


def unused_aliases(
    aliased: Collection[Aliased],
    direct: Collection[ast.expr],
    references: Collection[ast.AST],
    project: Project,
    texts: Mapping[Path, str],
) -> dict[Decision, list[tuple[Module, Operation]]]:
    """By what an alias stands for, the operations that drop it and its imports, where nothing needs it any more.

    `direct` are the sites that show maps of their own, `references` all nodes that stand for pmap without an alias. An
    alias stays where any code of the project has its name otherwise, as a name or a string, or in what does not parse.
    """
    found = {}
    for root in {id(one.root): one.root for one in aliased}.values():
        own = [one.site for one in aliased if one.root is root]
        statement = _definition(root)
        if statement is None or any(site.node not in direct for site in own):
            continue
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        gone = {*(_alias_in(site.callee) for site in own), *references, root.reference.node}
        dropped = _imports(root.reference.module, target.id, gone, project, texts)
        if dropped is not None:
            found[root] = [(root.reference.module, DropStatement(statement, commented=True)), *dropped]
    return found


def _alias_in(callee: ast.expr) -> ast.expr:
    """The alias itself, in `functools.partial(pmap, donate_argnums=0)` too."""
    while isinstance(callee, ast.Call) and callee.args:
        callee = callee.args[0]
    return callee


def _definition(root: Decision) -> ast.Assign | None:
    """The statement at the top of a module that gives pmap, or a partial of it, the one name that it binds."""
    reference = root.reference
    module = reference.module
    node: ast.AST = reference.node
    if reference.use == "partial" and reference.call is not None:
        node = reference.call
    statement = module.table.parents.get(node)
    if not isinstance(statement, ast.Assign) or statement not in module.tree.body or len(module.tree.body) == 1:
        return None
    target = statement.targets[0]
    named = isinstance(target, ast.Name) and len(statement.targets) == 1 and not module.is_package
    bound = module.table.root.bindings.get(target.id, ()) if isinstance(target, ast.Name) else ()
    return statement if named and len(bound) == 1 else None


def _imports(
    home: Module, name: str, gone: Collection[ast.AST], project: Project, texts: Mapping[Path, str]
) -> list[tuple[Module, Operation]] | None:
    """The operations that drop the imports of a name from its module; None where something else mentions it."""
    read = {module.path for module in project.program}
    word = re.compile(rf"\b{re.escape(name)}\b")
    others = [p for p, text in texts.items() if p not in read and name in text and word.search(text)]
    parsed = [module for path in others if (module := project.module(path)) is not None]
    if len(parsed) < len(others):
        return None
    found: list[tuple[Module, Operation]] = []
    for module in (*project.program, *parsed):
        if name not in module.text:
            continue
        if module.table.star_imports or any(node not in gone for node in module.table.named.get(name, ())):
            return None
        if any(isinstance(n, ast.Constant) and n.value == name for n in module.nodes):
            return None
        for statement, alias in _imported(module, name):
            source = project.imported(module, statement.module or "", statement.level)
            if source is home:
                if alias.asname is not None or module.is_package:
                    return None
                found.append((module, DropAlias(statement, alias)))
    return found


def _imported(module: Module, name: str) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    for statement in module.table.import_statements:
        if isinstance(statement, ast.ImportFrom):
            yield from ((statement, alias) for alias in statement.names if alias.name == name)
