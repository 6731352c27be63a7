"""Aliases of pmap: the sites that go by one, and the aliases that nothing needs once these show maps of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.migrate.decide import KEYWORDS, Decision, Surroundings
from jaxmigrate.migrate.inside import inside
from jaxmigrate.migrate.roots import root_of
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.operations import DropAlias, DropStatement, Operation
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, ReferenceNode
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External


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
    held: Collection[ast.expr] = (),
) -> dict[Module, list[Aliased]]:
    """By module, the sites under aliases that may show a map of their own: none that hold maps, or are `held`."""
    found: dict[Module, list[Aliased]] = {}
    for module, every in sites.items():
        by_node = {site.node: site for site in every}
        for site in every:
            root = root_of(site) if site.reference is None else None
            if (
                root is None
                or not root.is_plain
                or site.node in held
                or any(a.keyword not in (*KEYWORDS, None) for a in site.arguments)
            ):
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
        if statement is None or root.stays or any(site.node not in direct for site in own):
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
    node: ast.AST = reference.typed
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


def passed_on(
    module: Module,
    aliases: Collection[ReferenceNode],
    sites: Collection[MappedSite],
    names: Collection[str],
    resolver: Resolver,
) -> Iterator[ast.expr]:
    """Where a module hands on one of some maps that go by other names, so that calls of it are out of sight.

    `names` are all that the maps go by.
    """
    callees = {_alias_in(site.callee) for site in sites}
    for node in (node for name in sorted(names) for node in module.table.named.get(name, ())):
        if not isinstance(node.ctx, ast.Load):
            continue
        if node in aliases or node in callees or _is_in_sight(node, module, resolver):
            continue
        if root_of(node, module, resolver, aliases) is not None:
            yield node


def names_of_aliases(aliases: Collection[Decision], modules: Iterable[Module]) -> set[str]:
    """The names that some maps are given, and those under which they are imported."""
    found: set[str] = set()
    for decision in aliases:
        node: ast.AST | None = decision.reference.node
        while node is not None and not isinstance(node, ast.stmt):
            node = decision.reference.module.table.parents.get(node)
        found |= {name for one in _targets(node) if (name := last_name(one))}
    statements = [s for m in modules for s in m.table.import_statements if isinstance(s, ast.ImportFrom)]
    return found | {a.asname for s in statements for a in s.names if a.asname and a.name in found}


def _is_in_sight(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression is only given a name, or an attribute of it is read."""
    parent = module.table.parents.get(node)
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        callee = resolver.value(parent.func, module)
        return isinstance(callee, External) and callee.name in PARTIALS and _is_in_sight(parent, module, resolver)
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        return all(isinstance(target, ast.Name) for target in _targets(parent))
    return isinstance(parent, ast.Attribute)


def _targets(node: ast.AST | None) -> list[ast.expr]:
    """What a statement assigns to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


def _imported(module: Module, name: str) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    for statement in module.table.import_statements:
        if isinstance(statement, ast.ImportFrom):
            yield from ((statement, alias) for alias in statement.names if alias.name == name)
