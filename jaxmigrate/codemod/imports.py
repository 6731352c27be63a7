"""Imports added where a file's own order puts them, and names taken out of imports.

LibCST's AddImportsVisitor puts a new import behind the last one and its RemoveImportsVisitor keeps a name that another
import binds as well, so that neither leaves a file as its formatter would.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst
from libcst.helpers import get_full_name_for_node

from jaxmigrate.codemod.style import Style
from jaxmigrate.program.operations import DropAlias, Import, ReplaceAlias

if TYPE_CHECKING:
    from jaxmigrate.codemod.apply import ApplyOperations

Importing: TypeAlias = cst.Import | cst.ImportFrom
SortKey: TypeAlias = Callable[[Importing], tuple[object, ...]]


def changed(
    command: ApplyOperations, original: Importing, updated: Importing, operations: Sequence[DropAlias | ReplaceAlias]
) -> Importing | None:
    """An import after operations on its names; None where none is left."""
    if isinstance(updated.names, cst.ImportStar):
        return None
    assert not isinstance(original.names, cst.ImportStar)
    keys = [command.places.of_cst(alias) for alias in original.names]
    names: list[cst.ImportAlias | None] = list(updated.names)
    for operation in operations:
        index = keys.index(command.places.of_ast(operation.alias))
        old = names[index]
        if isinstance(operation, DropAlias) or old is None:
            names[index] = None
        else:
            names[index] = alias_of(operation.name, operation.asname).with_changes(comma=old.comma)
    kept = [name for name in names if name is not None]
    if not kept:
        return None
    last = updated.names[-1]
    if kept[-1] is not last:
        kept[-1] = kept[-1].with_changes(comma=last.comma)
    return updated.with_changes(names=kept)


def alias_of(name: str, asname: str = "") -> cst.ImportAlias:
    """A name in an import."""
    parsed = cst.parse_statement(f"import {name}{f' as {asname}' if asname else ''}")
    assert isinstance(parsed, cst.SimpleStatementLine)
    statement = parsed.body[0]
    assert isinstance(statement, cst.Import)
    return statement.names[0]


def added(module: cst.Module, wanted: Iterable[Import], style: Style) -> cst.Module:
    """A module with imports that it lacks."""
    body: list[cst.BaseStatement] = list(module.body)
    missing = {one.statement: one for one in wanted if not _has(body, one)}
    by_source: dict[str, list[Import]] = {}
    for one in missing.values():
        by_source.setdefault(one.module if one.name else one.statement, []).append(one)
    for group in by_source.values():
        if group[0].name and _joined(body, group, style):
            continue
        _inserted(body, group)
    return module.with_changes(body=body)


def _head(body: Sequence[cst.BaseStatement]) -> list[int]:
    """The indices of the imports that stand alone on their lines before the first definition."""
    found: list[int] = []
    for index, statement in enumerate(body):
        if isinstance(statement, cst.FunctionDef | cst.ClassDef):
            break
        if _importing(statement) is not None:
            found.append(index)
    return found


def _importing(statement: cst.BaseStatement) -> Importing | None:
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        return small if isinstance(small, cst.Import | cst.ImportFrom) else None
    return None


def module_of(statement: Importing) -> str:
    """The module that an import names first, with the dots of a relative one."""
    if isinstance(statement, cst.ImportFrom):
        name = get_full_name_for_node(statement.module) if statement.module is not None else ""
        return "." * len(statement.relative) + (name or "")
    return get_full_name_for_node(statement.names[0].name) or ""


def _has(body: Sequence[cst.BaseStatement], wanted: Import) -> bool:
    for index in _head(body):
        statement = _importing(body[index])
        assert statement is not None
        if isinstance(statement.names, cst.ImportStar) or isinstance(statement, cst.ImportFrom) != bool(wanted.name):
            continue
        if isinstance(statement, cst.ImportFrom) and module_of(statement) != wanted.module:
            continue
        for alias in statement.names:
            name = get_full_name_for_node(alias.name)
            bound = alias.evaluated_alias or ""
            if name == (wanted.name or wanted.module) and bound == wanted.asname:
                return True
    return False


def _joined(body: list[cst.BaseStatement], group: Sequence[Import], style: Style) -> bool:
    """Puts names into an import from the same module that has room for them, in the order of its names."""
    for index in _head(body):
        statement = _importing(body[index])
        if not isinstance(statement, cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
            continue
        if module_of(statement) != group[0].module:
            continue
        spread = statement.lpar is not None and "\n" in cst.Module(body=()).code_for_node(statement)
        names = list(statement.names)
        for one in group:
            names = _with_name(names, one)
        made = statement.with_changes(names=names)
        line = cst.Module(body=()).code_for_node(made)
        if not spread and len(line) > style.width:
            return False
        line_of = body[index]
        assert isinstance(line_of, cst.SimpleStatementLine)
        body[index] = line_of.with_changes(body=[made])
        return True
    return False


def _with_name(names: Sequence[cst.ImportAlias], new: Import) -> list[cst.ImportAlias]:
    """The names of an import with one more, before the first that sorts behind it."""
    sort = _name_order(names)
    place = next((i for i, old in enumerate(names) if sort(_name(old)) > sort(new.name)), len(names))
    made = alias_of(new.name, new.asname)
    if place == len(names):
        last = names[-1]
        between = names[0].comma if len(names) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        if isinstance(last.comma, cst.Comma):
            between = last.comma if len(names) == 1 else between
        return [*names[:-1], last.with_changes(comma=between), made.with_changes(comma=last.comma)]
    comma = names[place].comma
    if not isinstance(comma, cst.Comma):
        comma = names[0].comma if len(names) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    return [*names[:place], made.with_changes(comma=comma), *names[place:]]


def _name(alias: cst.ImportAlias) -> str:
    return get_full_name_for_node(alias.name) or ""


def _name_order(names: Sequence[cst.ImportAlias]) -> Callable[[str], tuple[object, ...]]:
    """How the names of an import are sorted: constants, classes and the rest apart, as isort does, or as they come."""
    known = [_name(one) for one in names]

    def kinds(name: str) -> tuple[object, ...]:
        return 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name

    def plain(name: str) -> tuple[object, ...]:
        return name.lower(), name

    return kinds if known == sorted(known, key=kinds) else plain


def _inserted(body: list[cst.BaseStatement], group: Sequence[Import]) -> None:
    """Puts an import where the order of the file's own has it."""
    names = ", ".join(
        f"{one.name}{f' as {one.asname}' if one.asname else ''}"
        for one in sorted(group, key=lambda one: (not one.name[:1].isupper(), one.name))
    )
    text = f"from {group[0].module} import {names}" if group[0].name else group[0].statement
    new = cst.parse_statement(text)
    assert isinstance(new, cst.SimpleStatementLine)
    head = _head(body)
    if not head:
        _put(body, _behind_docstring(body), new)
        return
    statement = _importing(new)
    assert statement is not None
    section = _section(body, head, statement)
    if section is None:
        last = max(head)
        _put(body, last + 1, new.with_changes(leading_lines=[cst.EmptyLine(indent=False)]))
        return
    known = [found for i in section if (found := _importing(body[i])) is not None]
    key = _order(known)
    place = next((i for i in section if key(_of(body[i])) > key(statement)), None)
    if place is None:
        _put(body, section[-1] + 1, new)
        return
    below = body[place]
    assert isinstance(below, cst.SimpleStatementLine)
    if place == section[0]:  # what stands above the section stays above it
        new = new.with_changes(leading_lines=below.leading_lines)
        body[place] = below.with_changes(leading_lines=())
    _put(body, place, new)


def _of(statement: cst.BaseStatement) -> Importing:
    found = _importing(statement)
    assert found is not None
    return found


def _put(body: list[cst.BaseStatement], place: int, new: cst.SimpleStatementLine) -> None:
    body.insert(place, new)


def _behind_docstring(body: Sequence[cst.BaseStatement]) -> int:
    first = body[0] if body else None
    if isinstance(first, cst.SimpleStatementLine):
        small = first.body[0]
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString):
            return 1
    return 0


def _section(body: Sequence[cst.BaseStatement], head: Sequence[int], new: Importing) -> list[int] | None:
    """The imports, without a blank line between them, among which a new one belongs; None where it begins its own."""
    sections: list[list[int]] = []
    for index in head:
        statement = body[index]
        assert isinstance(statement, cst.SimpleStatementLine)
        adjacent = sections and sections[-1][-1] == index - 1 and all(line.comment for line in statement.leading_lines)
        if adjacent:
            sections[-1].append(index)
        else:
            sections.append([index])
    kinds = [[_kind(module_of(_of(body[i]))) for i in section] for section in sections]
    wanted = _kind(module_of(new))
    future = [all(module_of(_of(body[i])) == "__future__" for i in section) for section in sections]
    usable = [i for i, is_future in enumerate(future) if not is_future]
    root = module_of(new).partition(".")[0]
    for i in usable:
        if any(module_of(_of(body[j])).partition(".")[0] == root for j in sections[i]) and root:
            return sections[i]
    for i in usable:
        if wanted in kinds[i]:
            return sections[i]
    if wanted == "own":
        return None
    return sections[usable[0]] if usable else None


def _kind(module: str) -> str:
    """The section that isort puts an import in: the standard library, installed ones, or the project's own."""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return "standard"
    return "own" if not root else "installed"


def _order(known: Sequence[Importing]) -> SortKey:
    """The order in which a section stands: plain imports first, or all by module."""

    def plain_first(statement: Importing) -> tuple[object, ...]:
        return isinstance(statement, cst.ImportFrom), module_of(statement).lower()

    def by_module(statement: Importing) -> tuple[object, ...]:
        return (module_of(statement).lower(), isinstance(statement, cst.ImportFrom))

    def disorder(key: SortKey) -> int:
        found = [key(one) for one in known]
        return sum(a > b for i, a in enumerate(found) for b in found[i + 1 :])

    return min((plain_first, by_module), key=disorder)
