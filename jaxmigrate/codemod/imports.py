"""Imports added where a file's own order puts them, and names taken out of imports.

LibCST's AddImportsVisitor puts a new import behind the last one and its RemoveImportsVisitor keeps a name that another
import binds as well, so that neither leaves a file as its formatter would.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import libcst as cst
from libcst.helpers import get_full_name_for_node

from jaxmigrate.codemod import commas
from jaxmigrate.codemod.body import Body, Importing, alone
from jaxmigrate.codemod.layout import source
from jaxmigrate.codemod.rewriting import Rewriting
from jaxmigrate.program.operations import Code, DropAlias, Import, ReplaceAlias

BLANK = cst.EmptyLine(indent=False)
SortKey: TypeAlias = Callable[[Importing], tuple[int | bool | str, ...]]


class Moved(NamedTuple):
    """A name that goes from an import on some line of the file to one of another module."""

    wanted: Import
    line: int


class Changed(NamedTuple):
    """An import after operations on its names: None where none is left, and what is imported elsewhere for them."""

    statement: Importing | None
    moved: tuple[Moved, ...] = ()
    below: tuple[Code, ...] = ()


def head(body: Sequence[cst.BaseStatement], command: Rewriting) -> list[Importing]:
    """The imports that may go elsewhere among those at the head of a module; cells run one by one, so none there."""
    found: list[Importing] = []
    for statement in () if command.cells else body:
        if isinstance(statement, cst.FunctionDef | cst.ClassDef):
            break
        small = alone(statement)
        found += [small] if small is not None else []
    return found


def changed(
    command: Rewriting,
    original: Importing,
    updated: Importing,
    operations: Sequence[DropAlias | ReplaceAlias],
    *,
    moves: bool,
) -> Changed:
    """An import after operations on its names; `moves` says that new ones may go where their order has them."""
    if isinstance(updated.names, cst.ImportStar):
        return Changed(None)
    assert not isinstance(original.names, cst.ImportStar)
    keys = [command.places.of_cst(alias) for alias in original.names]
    names: list[cst.ImportAlias | None] = list(updated.names)
    elsewhere: list[Import] = []
    for operation in operations:
        index = keys.index(command.places.of_ast(operation.alias))
        old = names[index]
        names[index] = None
        if isinstance(operation, ReplaceAlias) and old is not None:
            new = alias_of(operation.name, operation.asname)
            if isinstance(updated, cst.Import) and moves:
                elsewhere.append(Import(operation.name, asname=operation.asname))
            elif operation.module and operation.module != module_of(updated):
                elsewhere.append(Import(operation.module, operation.name, operation.asname))
            elif all(one is None or source(_bare(one)) != source(new) for one in names):
                names[index] = new.with_changes(comma=old.comma)
    kept = [name for name in names if name is not None]
    if kept and kept[-1] is not updated.names[-1]:
        kept[-1] = kept[-1].with_changes(comma=commas.ended(kept[-1].comma, updated.names[-1].comma))
    statement = updated.with_changes(names=kept) if kept else None
    if statement is not None:
        command.keep_comments(updated, statement)
    if moves:
        line = command.places.start(original)[0]
        return Changed(statement, tuple(Moved(one, line) for one in elsewhere))
    groups = [_text(group) for group in _by_source(elsewhere, command.style.combine_as)]
    if statement is None and groups:
        statement = _parsed(groups.pop(0))
        command.keep_comments(updated, statement)
    return Changed(statement, below=tuple(Code(text) for text in groups))


def _bare(alias: cst.ImportAlias) -> cst.ImportAlias:
    return alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)


def alias_of(name: str, asname: str = "") -> cst.ImportAlias:
    """A name in an import."""
    names = _parsed(f"import {name}{f' as {asname}' if asname else ''}").names
    assert not isinstance(names, cst.ImportStar)
    return names[0]


def _parsed(text: str) -> Importing:
    line = cst.parse_statement(text)
    assert isinstance(line, cst.SimpleStatementLine)
    small = line.body[0]
    assert isinstance(small, cst.Import | cst.ImportFrom)
    return small


def add(body: Body, wanted: Iterable[Import], moved: Iterable[Moved]) -> None:
    """Puts imports that a module lacks among its statements."""
    limits: dict[str, tuple[Import, int]] = {}
    for one in wanted:
        lines = [line for node in one.uses if (line := getattr(node, "lineno", None)) is not None]
        _note(limits, one, body.first_line(body.first_of(lines)))
    for one, line in moved:
        _note(limits, one, body.first_line(_past_imports(body, line)))
    missing = {text: pair for text, pair in limits.items() if not _has(body, *pair)}
    combine = body.command.style.combine_as
    for group in _by_source([one for one, _ in missing.values()], combine):
        line = min(missing[one.statement][1] for one in group)
        if not (group[0].name and _joined(body, group, line)):
            _inserted(body, group, line)


def _note(limits: dict[str, tuple[Import, int]], one: Import, line: int) -> None:
    """Notes an import that has to stand above a line."""
    limits[one.statement] = one, min(line, limits[one.statement][1]) if one.statement in limits else line


def _by_source(wanted: Iterable[Import], combine: bool) -> list[list[Import]]:
    """Imports with those from one module together; those with an `as` too, where these may be combined."""
    found: dict[str, list[Import]] = {}
    for one in {one.statement: one for one in wanted}.values():
        alone = not one.name or (one.asname and not combine)
        found.setdefault(one.statement if alone else one.module, []).append(one)
    return list(found.values())


def _text(group: Sequence[Import]) -> str:
    """The statement for imports from one module."""
    if not group[0].name:
        return group[0].statement
    names = sorted(group, key=lambda one: (not one.name[:1].isupper(), one.name))
    written = (f"{one.name}{f' as {one.asname}' if one.asname else ''}" for one in names)
    return f"from {group[0].module} import {', '.join(written)}"


def _past_imports(body: Body, line: int) -> int:
    """The index of the first statement behind the imports of which one stands on a line."""
    index = body.first_of([line])
    while index < len(body.statements) and alone(body.statements[index]) is not None:
        index += 1
    return index


def _head(body: Body, line: int) -> list[int]:
    """The indices of the imports that stand alone on their lines, above a line, before the first definition."""
    found: list[int] = []
    _, end = _cell(body, line) if body.command.cells else (0, line)
    for index, statement in enumerate(body.statements):
        if isinstance(statement, cst.FunctionDef | cst.ClassDef) and not body.command.cells:
            break
        if body.origins[index] is not None and body.first_line(index) >= end:
            break
        if alone(statement) is not None:
            found.append(index)
    return found


def _cell(body: Body, line: int) -> tuple[int, int]:
    """The lines from the first cell that imports jax above a line, or imports anything, to what is behind it."""
    imports = [i for i, s in enumerate(body.statements) if alone(s) is not None and body.first_line(i) < line]
    of_jax = [i for i in imports if module_of(_of(body, i)).partition(".")[0] == "jax"]
    plain = [i for i in of_jax if isinstance(_of(body, i), cst.Import)]
    itself = [i for i in plain if module_of(_of(body, i)) == "jax"]  # a part of it may only set a machine up
    chosen = next(iter([*itself, *plain, *of_jax, *imports]), None)
    first = 0 if chosen is None else body.first_line(chosen)
    headers = [cell.header for cell in body.command.cells]
    return max([h for h in headers if h <= first], default=0), min([h for h in headers if h > first], default=line)


def module_of(statement: Importing) -> str:
    """The module that an import names first, with the dots of a relative one."""
    if isinstance(statement, cst.ImportFrom):
        name = get_full_name_for_node(statement.module) if statement.module is not None else ""
        return "." * len(statement.relative) + (name or "")
    return get_full_name_for_node(statement.names[0].name) or ""


def _has(body: Body, wanted: Import, line: int) -> bool:
    for index in _head(body, line):
        statement = body.importing(index)
        if statement is None or isinstance(statement.names, cst.ImportStar):
            continue
        if isinstance(statement, cst.ImportFrom) != bool(wanted.name):
            continue
        if isinstance(statement, cst.ImportFrom) and module_of(statement) != wanted.module:
            continue
        for alias in statement.names:
            name = get_full_name_for_node(alias.name)
            bound = alias.evaluated_alias or ""
            if name == (wanted.name or wanted.module) and bound == wanted.asname:
                return True
    return False


def _joined(body: Body, group: Sequence[Import], line: int) -> bool:
    """Puts names into an import from the same module, in the order of its names."""
    if group[0].asname and not body.command.style.combine_as:
        return False
    for index in _head(body, line):
        statement = body.importing(index)
        if not isinstance(statement, cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
            continue
        apart = not body.command.style.combine_as and any(alias.asname for alias in statement.names)
        if apart or module_of(statement) != group[0].module:
            continue
        names = list(statement.names)
        for one in group:
            names = _with_name(names, one)
        line_of = body.statements[index]
        assert isinstance(line_of, cst.SimpleStatementLine)
        body.statements[index] = line_of.with_changes(body=[_wrapped(statement.with_changes(names=names), body)])
        return True
    return False


def _wrapped(statement: cst.ImportFrom, body: Body) -> cst.ImportFrom:
    """An import with a line for each of its names where it is too long for one."""
    text = source(statement)
    if "\n" in text or len(text) <= body.command.style.width or isinstance(statement.names, cst.ImportStar):
        return statement
    inner = cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(body.command.style.indent))
    commas = [cst.Comma(whitespace_after=inner)] * (len(statement.names) - 1)
    last = cst.Comma(whitespace_after=cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace("")))
    names = [one.with_changes(comma=end) for one, end in zip(statement.names, [*commas, last], strict=True)]
    return statement.with_changes(names=names, lpar=cst.LeftParen(inner), rpar=cst.RightParen())


def _with_name(names: Sequence[cst.ImportAlias], new: Import) -> list[cst.ImportAlias]:
    """The names of an import with one more, before the first that sorts behind it."""
    sort = _name_order(names)
    place = next((i for i, old in enumerate(names) if sort(_name(old)) > sort(new.name)), len(names))
    made = alias_of(new.name, new.asname)
    gap = commas.between(names[0].comma) if len(names) > 1 else None
    gap = gap or cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if place < len(names):
        return [*names[:place], made.with_changes(comma=gap), *names[place:]]
    last = names[-1]
    if len(names) == 1 and isinstance(last.comma, cst.Comma):
        gap = last.comma
    ending = commas.between(last.comma) or cst.MaybeSentinel.DEFAULT
    return [*names[:-1], last.with_changes(comma=gap), made.with_changes(comma=ending)]


def _name(alias: cst.ImportAlias) -> str:
    return get_full_name_for_node(alias.name) or ""


def _name_order(names: Sequence[cst.ImportAlias]) -> Callable[[str], tuple[int | str, ...]]:
    """How the names of an import are sorted: constants, classes and the rest apart, as isort does, or as they come."""
    known = [_name(one) for one in names]

    def kinds(name: str) -> tuple[int | str, ...]:
        return 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name

    def plain(name: str) -> tuple[int | str, ...]:
        return name.lower(), name

    return kinds if known == sorted(known, key=kinds) else plain


def _inserted(body: Body, group: Sequence[Import], line: int) -> None:
    """Puts an import where the order of the file's own has it, above a line."""
    statement = _parsed(_text(group))
    if isinstance(statement, cst.ImportFrom):
        statement = _wrapped(statement, body)
    new = cst.SimpleStatementLine([statement])
    start, _ = _cell(body, line) if body.command.cells else (0, line)
    indices = [index for index in _head(body, line) if not start or body.first_line(index) >= start]
    if not indices:
        body.insert(_behind_docstring(body), new)
        return
    sections = _sections(body, indices)
    section = _section_of(body, sections, statement, own=group[0].own)
    if section is None or (group[0].own and _is_of_others(section, sections, body, statement)):
        _put_apart(body, sections, new, own=group[0].own)
        return
    place = _place_in(section, body, statement, of_project=group[0].own)
    if place == section[0]:  # what stands above the section stays above it
        below = body.statements[place]
        new = new.with_changes(leading_lines=below.leading_lines)
        body.statements[place] = below.with_changes(leading_lines=())
    body.insert(place, new)


def _place_in(section: Sequence[int], body: Body, new: Importing, *, of_project: bool) -> int:
    """Where an import goes in a section: by its order, or where that has none, beside others of its package, or last.

    Imports of the project come last, as others stand there whose packages are not known.
    """
    key = _order([_of(body, index) for index in section])
    keys = [key(_of(body, index)) for index in section]
    root = module_of(new).partition(".")[0]
    own = [index for index in section if module_of(_of(body, index)).partition(".")[0] == root]
    if keys != sorted(keys) and of_project and not own:
        return section[-1] + 1
    among = own if own and keys != sorted(keys) else section
    behind = next((index for index in among if key(_of(body, index)) > key(new)), None)
    return among[-1] + 1 if behind is None else behind


def _of(body: Body, index: int) -> Importing:
    found = alone(body.statements[index])
    assert found is not None
    return found


def _behind_docstring(body: Body) -> int:
    first = body.statements[0] if body.statements else None
    if isinstance(first, cst.SimpleStatementLine):
        small = first.body[0]
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString):
            return 1
    return 0


def _sections(body: Body, indices: Sequence[int]) -> list[list[int]]:
    """The imports at some indices, those without a blank line or another statement between them together."""
    sections: list[list[int]] = []
    for index in indices:
        apart = any(line.comment is None for line in body.statements[index].leading_lines)
        if sections and sections[-1][-1] == index - 1 and not apart:
            sections[-1].append(index)
        else:
            sections.append([index])
    return sections


def _section_of(body: Body, sections: Sequence[list[int]], new: Importing, *, own: bool) -> list[int] | None:
    """The section in which a new import belongs: one with others of its package, or of its kind; None where none is.

    What is installed goes beside jax, which surely is: other names may be those of the project's own packages.
    """
    root = module_of(new).partition(".")[0]
    names = [[module_of(_of(body, index)) for index in section] for section in sections]
    for beside in (root, "jax" if _rank(root) == _rank("jax") and not own else ""):
        for section, modules in zip(sections, names, strict=True):
            if beside and any(name.partition(".")[0] == beside for name in modules):
                return section
    for section, modules in zip(reversed(sections), reversed(names), strict=True):
        if any(_rank(name) == _rank(root) for name in modules):
            return section
    return None


def _is_of_others(section: Sequence[int], sections: Sequence[list[int]], body: Body, new: Importing) -> bool:
    """Whether a section is that of installed packages in a file that has a section for each kind of import."""
    ranks = [[_rank(module_of(_of(body, index))) for index in one] for one in sections]
    kinds = [one[0] for one in ranks if len(set(one)) == 1]
    apart = len(kinds) == len(ranks) > 1 and kinds == sorted(set(kinds))
    root = module_of(new).partition(".")[0]
    return apart and all(module_of(_of(body, index)).partition(".")[0] != root for index in section)


def _put_apart(body: Body, sections: Sequence[list[int]], new: cst.SimpleStatementLine, *, own: bool = False) -> None:
    """Puts an import in a section of its own: the standard library, what is installed, the project."""
    rank = 3 if own else _rank(module_of(_only(new)))
    behind = next((s for s in sections if all(_rank(module_of(_of(body, index))) > rank for index in s)), None)
    if behind is None:
        body.insert(sections[-1][-1] + 1, new.with_changes(leading_lines=[BLANK]))
        return
    below = body.statements[behind[0]]
    body.statements[behind[0]] = below.with_changes(leading_lines=[BLANK])
    body.insert(behind[0], new.with_changes(leading_lines=below.leading_lines))


def _only(line: cst.SimpleStatementLine) -> Importing:
    found = alone(line)
    assert found is not None
    return found


def _rank(module: str) -> int:
    """The section that isort puts an import in: __future__, the standard library, installed ones, the project's own."""
    root = module.partition(".")[0]
    if root == "__future__":
        return 0
    return 1 if root in sys.stdlib_module_names else 2 if root else 3


def _order(known: Sequence[Importing]) -> SortKey:
    """The order in which a section stands: plain imports first, or all by module; with or without the kinds apart."""

    def plain_first(statement: Importing) -> tuple[bool | str, ...]:
        return isinstance(statement, cst.ImportFrom), module_of(statement).lower(), first_name(statement)

    def by_module(statement: Importing) -> tuple[bool | str, ...]:
        return module_of(statement).lower(), isinstance(statement, cst.ImportFrom), first_name(statement)

    def apart(order: SortKey) -> SortKey:
        return lambda statement: (_rank(module_of(statement)), *order(statement))

    def first_name(statement: Importing) -> str:
        names = statement.names if isinstance(statement, cst.ImportFrom) else ()
        return "" if isinstance(names, cst.ImportStar) or not names else _name(names[0]).lower()

    def disorder(key: SortKey) -> int:
        found = [key(one) for one in known]
        return sum(a > b for i, a in enumerate(found) for b in found[i + 1 :])

    return min((plain_first, by_module, apart(plain_first), apart(by_module)), key=disorder)
