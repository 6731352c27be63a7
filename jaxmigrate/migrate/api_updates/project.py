"""Replaces old names of JAX in all files of a project together: where one file hands a name on, others go along."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from jaxmigrate.migrate.api_updates.api_rewriters import Subject, subjects
from jaxmigrate.migrate.api_updates.arrays import (
    may_clip,
    may_sum_ones,
    name_bounds,
    name_sizes,
    old_bounds,
    sums_of_ones,
)
from jaxmigrate.migrate.api_updates.kept import Parted, parted
from jaxmigrate.migrate.api_updates.meshes import EXPLICIT, enter_meshes, keep_axes_auto
from jaxmigrate.migrate.api_updates.quoted import quoted_names, rename_quoted
from jaxmigrate.migrate.api_updates.renames import NO_PLACE, rename
from jaxmigrate.migrate.api_updates.rewrite_context import KEPT_ALONG, KEPT_HERE, RewriteContext, Seen
from jaxmigrate.migrate.api_updates.source_version import era_of
from jaxmigrate.migrate.api_updates.texts import Texts
from jaxmigrate.migrate.cleanup import without_leftovers
from jaxmigrate.migrate.imports import imported_names
from jaxmigrate.migrate.read_texts import ReadTexts
from jaxmigrate.migrate.style import style_of
from jaxmigrate.migrate.unhandled import blamed
from jaxmigrate.migrate.wanted import ALL, Wanted
from jaxmigrate.program.mesh_contexts import mesh_contexts, untyped_meshes
from jaxmigrate.program.modules import Module, Project, read_utf8
from jaxmigrate.program.old_names import Era, Release
from jaxmigrate.program.old_uses import (
    OldImport,
    OldReference,
    may_set_names,
    unguarded_uses,
)
from jaxmigrate.program.operations import DropAlias, Import, ReplaceAlias
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.unknown_names import unknown_names

NONE: Mapping[Path, frozenset[str]] = MappingProxyType({})


class Renewed(NamedTuple):
    """A file after its old names were replaced, and each use that there was, replaced or left."""

    text: str
    seen: tuple[Seen, ...]


def renew(
    texts: Mapping[Path, str],
    target: Release | None,
    required: Era = "",
    touched: Collection[Path] = (),
    read: ReadTexts | None = None,
    leaned_on: Mapping[Path, frozenset[str]] = NONE,
    wanted: Wanted = ALL,
) -> dict[Path, Renewed]:
    """Replaces old names in the files of a project; the result has those files that use any and parse.

    `target` is the oldest release that the result must run on, `required` what the project says it was written for,
    `touched` are files that change in any case, so that what JAX lacks is told in them. `read` keeps, for later calls
    with most of the same texts, what was found of them. `leaned_on` are names that others import, by file.
    Names that are not `wanted` stay.
    """
    older = _is_older_than_explicit(target, required)
    read = ReadTexts() if read is None else read
    modules = _parsed(texts, touched, older, read)
    resolver = Resolver(Project(modules.values(), lambda path: texts.get(path) or read_utf8(path), texts))
    found = {module: unguarded_uses(module, resolver) for module in modules.values()}
    found = {m: u for m, u in found.items() if m.path in touched or any(u) or _has_others(m, resolver, older)}
    if not found:
        return {}
    era = era_of(found, resolver, required)
    words = Texts(list(texts.values()))
    uses = {module: parted(one, wanted) for module, one in found.items()}
    by_row = subjects({m: one.changing for m, one in uses.items()}, resolver, era, target, words, wanted)
    imported = imported_names(tuple(modules.values()), resolver)
    leaning = {m: imported.get(m, frozenset()) | leaned_on.get(m.path, frozenset()) for m in found}
    desks = [RewriteContext(module, resolver, target, leaning[module], wanted) for module in found]
    return {desk.module.path: _blamed(desk, uses[desk.module], by_row, words, read) for desk in desks}


def _is_older_than_explicit(target: Release | None, required: Era) -> bool:
    """Whether a project says that it works with releases whose meshes had no Explicit axes by default."""
    return required == "old" or (target is not None and target < EXPLICIT)


def _parsed(texts: Mapping[Path, str], touched: Collection[Path], older: bool, read: ReadTexts) -> dict[Path, Module]:
    modules: dict[Path, Module] = {}
    for path, text in texts.items():
        ways = (
            path in touched
            or may_set_names(text)
            or may_sum_ones(text)
            or may_clip(text)
            or (older and "make_mesh" in text)
        )
        if ways or read.may_use_old_names(text):
            try:
                modules[path] = read.module(path, text)
            except SyntaxError:
                continue
    return modules


def _has_others(module: Module, resolver: Resolver, older: bool) -> bool:
    """Whether a module has something to replace that is no use of an old name."""
    if mesh_contexts(module, resolver) or any(quoted_names(module)) or any(sums_of_ones(module, resolver)):
        return True
    if any(old_bounds(module, resolver)):
        return True
    return older and any(untyped_meshes(module, resolver))


def _blamed(
    desk: RewriteContext, uses: Parted, by_row: Mapping[str, Subject], texts: Texts, read: ReadTexts
) -> Renewed:
    with blamed(desk.module.path):
        _renew(desk, uses, by_row, texts)
        return Renewed(_text_of(desk, read), desk.told())


def _renew(desk: RewriteContext, uses: Parted, by_row: Mapping[str, Subject], texts: Texts) -> None:
    _keep(desk, uses)
    imports, references = _due(desk, uses.changing.imports), _due(desk, uses.changing.references)
    rename_quoted(desk)
    changed = dict(rename(desk, _of_kind(imports, "rename"), _of_kind(references, "rename")))
    for use in references:
        if use.row.how == "hand":
            desk.leave(use.node, use.row)
        elif use.row.how == "rewrite":
            _rewrite(desk, use, by_row.get(use.row.name))
    for one in imports:
        if one.row.how != "rename":
            subject = by_row.get(one.row.name + one.below)
            if subject is not None and subject.keeps_name and isinstance(one.statement, ast.ImportFrom):
                changed[one.alias] = _under_its_name(one)
            elif desk.unread(one.alias, one.local) and not desk.is_read_elsewhere(one.local):
                changed[one.alias] = None
            else:
                desk.leave(one.alias, one.row)
    for one in imports:
        if one.alias in changed:
            _rewrite_import(desk, one, changed[one.alias])
    enter_meshes(desk, texts)
    keep_axes_auto(desk, texts)
    name_sizes(desk)
    name_bounds(desk)
    for unknown in unknown_names(desk.module):
        desk.lack(unknown)


def _keep(desk: RewriteContext, uses: Parted) -> None:
    """Notes what a comment keeps, and what stays with it."""
    for kept, reason in ((uses.asked, KEPT_HERE), (uses.along, KEPT_ALONG)):
        for one in kept.imports:
            desk.leave(one.alias, one.row, reason)
        for use in kept.references:
            desk.leave(use.node, use.row, reason)


def _due(desk: RewriteContext, uses: Sequence[OldImport] | Sequence[OldReference]) -> list:  # type: ignore[type-arg]
    """The uses whose replacement the oldest release to run on has; the others are noted as left."""
    due = []
    for use in uses:
        if use.row.holds_for(desk.target):
            due.append(use)
        else:
            node = use.alias if isinstance(use, OldImport) else use.node
            reason = f"{use.row.told}, which needs jax {use.row.needs}, but the code must run on an older one"
            desk.leave(node, use.row, reason)
    return due


def _of_kind(uses: Iterable, how: str) -> list:  # type: ignore[type-arg]
    return [use for use in uses if use.row.how == how]


def _rewrite(desk: RewriteContext, use: OldReference, subject: Subject | None) -> None:
    reason = subject.reason(use) if subject is not None else use.row.told
    if reason or subject is None:
        desk.leave(use.node, use.row, reason)
        return
    stays = isinstance(use.node, ast.Name) and subject.keeps_name
    text = use.node.id if stays and isinstance(use.node, ast.Name) else subject.name(desk, use)
    if text is None:
        desk.leave(use.node, use.row, f"{use.row.told}{NO_PLACE}")
        return
    if not stays and text:
        desk.replace(use.node, text)
    desk.gone.add(use.node)
    subject.apply(desk, use)
    desk.done(use.node, use.row)


def _under_its_name(use: OldImport) -> Import:
    """The import of a replacement under the name that the old import binds."""
    parent, _, last = use.row.replacement.rpartition(".")
    local = use.alias.asname or use.alias.name
    return Import(parent, last, "" if local == last else local)


def _rewrite_import(desk: RewriteContext, use: OldImport, new: Import | None) -> None:
    if new is None:
        desk.operations.append(DropAlias(use.statement, use.alias))
    elif new.name:
        desk.operations.append(ReplaceAlias(use.statement, use.alias, new.name, new.asname, new.module))
    else:
        desk.operations.append(ReplaceAlias(use.statement, use.alias, new.module, new.asname))


def _text_of(desk: RewriteContext, read: ReadTexts) -> str:
    module, operations = desk.module, desk.planned()
    if not operations:
        return module.text
    from jaxmigrate.codemod.apply import rewritten

    style = style_of(module)
    text = rewritten(module.text, operations, style, statements=module.tree.body)
    return without_leftovers(module, text, desk.imported, style, read)
