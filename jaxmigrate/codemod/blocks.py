"""Statements put before, behind, into and in the place of others, and definitions below the imports."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

import libcst as cst

from jaxmigrate.codemod.binding import in_brackets
from jaxmigrate.codemod.body import Body, Statement
from jaxmigrate.codemod.heads import fitted_head, renamed
from jaxmigrate.codemod.layout import comments_in, fits, fitted, lost_comments, may_be_exploded, source
from jaxmigrate.codemod.public import with_defaults, with_docstring, with_types
from jaxmigrate.codemod.rewriting import Rewriting
from jaxmigrate.codemod.said import NO_PROSE
from jaxmigrate.program.operations import (
    After,
    Before,
    Code,
    Define,
    DropStatement,
    Enclose,
    First,
    Redecorate,
    Rename,
    ReplaceStatement,
)
from jaxmigrate.sources.containers import CellStart
from jaxmigrate.sources.notebooks.joining import HEADER_MARK
from jaxmigrate.sources.notebooks.magics import MARK

Made: TypeAlias = list[cst.BaseStatement]
Noted = TypeVar("Noted", cst.SimpleStatementLine, cst.BaseCompoundStatement)
EMPTY = cst.EmptyLine(indent=False)
TOLD = re.compile(
    r"#\s*(type:|noqa|pylint:|pyright:|pragma:|nosec)"
)  # comments that tell a tool something of their line


def module(body: Body) -> cst.Module:
    """A module after the operations on its statements."""
    made, rest = _body(body.command, body.origins, body.statements, 2)
    first = made[0] if made else None
    if isinstance(first, cst.SimpleStatementLine | cst.BaseCompoundStatement) and not body.module.header:
        made[0] = first.with_changes(leading_lines=_below_blanks(first.leading_lines))
    return body.module.with_changes(body=made, footer=[*rest, *body.module.footer])


def _below_blanks(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Leading lines without the blank ones at their top."""
    return list(itertools.dropwhile(lambda line: line.comment is None, lines))


def suite(
    command: Rewriting,
    original: cst.IndentedBlock | cst.SimpleStatementSuite,
    updated: cst.IndentedBlock | cst.SimpleStatementSuite,
) -> cst.BaseSuite:
    """The body of a compound statement after the operations on its statements."""
    if isinstance(updated, cst.SimpleStatementSuite):
        assert isinstance(original, cst.SimpleStatementSuite)
        if not any(command.has_statement_operations(small) for small in original.body):
            return updated
        return _unfolded(command, original, updated)
    assert isinstance(original, cst.IndentedBlock)
    made, rest = _body(command, original.body, updated.body)
    if not made:
        made = [cst.SimpleStatementLine([cst.Pass()])]
    return updated.with_changes(body=made, footer=[*rest, *updated.footer])


def _unfolded(
    command: Rewriting, original: cst.SimpleStatementSuite, updated: cst.SimpleStatementSuite
) -> cst.IndentedBlock:
    """`if x: a; b` with a line for each statement."""
    made: Made = []
    for old, new in zip(original.body, updated.body, strict=True):
        line = cst.SimpleStatementLine([new.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
        if new is updated.body[-1]:
            line = line.with_changes(trailing_whitespace=updated.trailing_whitespace)
        made += _small(command, old, line)
    return cst.IndentedBlock(made or [cst.SimpleStatementLine([cst.Pass()])], indent=command.block_indent)


def _body(
    command: Rewriting, old: Sequence[cst.BaseStatement | None], new: Sequence[cst.BaseStatement], blanks: int = 1
) -> tuple[Made, list[cst.EmptyLine]]:
    """The statements of a block, and the comments of dropped ones that none of them comes after."""
    made: Made = []
    waiting: list[cst.EmptyLine] = []
    below_new = False  # a function stands above in the place of another statement
    follows: list[cst.BaseStatement | None] = [*new, None]
    for original, updated, below in zip(old, new, follows[1:], strict=True):
        assert isinstance(updated, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        commented = _drops_comments(command, original) and _is_apart(below)
        after = [updated] if original is None else list(_one(command, original, updated))
        if not after:
            left = _without_last(updated.leading_lines) if commented else updated.leading_lines
            waiting += [line for line in left if line.comment or not waiting]
            continue
        if waiting:
            first = after[0]
            assert isinstance(first, cst.SimpleStatementLine | cst.BaseCompoundStatement)
            leading = [*waiting, *first.leading_lines]
            after[0] = first.with_changes(leading_lines=_single_blanks(leading, len(waiting)))
            waiting = []
        simple = isinstance(original, cst.SimpleStatementLine)
        _set_apart(made, after, blanks, (simple and isinstance(after[0], cst.FunctionDef)) or below_new)
        below_new = simple and isinstance(after[-1], cst.FunctionDef)
    return made, [line for line in waiting if line.comment]


def _drops_comments(command: Rewriting, statement: cst.BaseStatement | None) -> bool:
    """Whether a statement is to be dropped with the comments that are about it alone."""
    if isinstance(statement, cst.SimpleStatementLine):
        return len(statement.body) == 1 and command.drops_comments(statement.body[0])
    return statement is not None and command.drops_comments(statement)


def _is_apart(statement: cst.BaseStatement | None) -> bool:
    """Whether a statement, if there is one, does not follow right below the one before it."""
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    return statement is None or (bool(lines) and lines[0].comment is None)


def _without_last(lines: Sequence[cst.EmptyLine]) -> Sequence[cst.EmptyLine]:
    """Leading lines without the last run of comments, unless one of these tells a tool something or draws a line."""
    first = len(lines)
    while first and lines[first - 1].comment is not None:
        first -= 1
    last = [line.comment.value for line in lines[first:] if line.comment is not None]
    return lines if any(map(NO_PROSE.match, last)) else lines[:first]


def _set_apart(made: Made, after: Sequence[cst.BaseStatement], blanks: int, is_new: bool) -> None:
    """Adds what a statement has become; a function in the place of another statement has blank lines around it."""
    for index, statement in enumerate(after):
        assert isinstance(statement, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        apart = is_new or (index and isinstance(statement, cst.FunctionDef))
        if made and apart and not _begins_cell(statement):
            have = sum(1 for _ in itertools.takewhile(lambda line: not line.comment, statement.leading_lines))
            lines = [EMPTY] * max(0, blanks - have)
            statement = statement.with_changes(leading_lines=[*lines, *statement.leading_lines])
        made.append(statement)
        is_new = isinstance(statement, cst.FunctionDef)


def _begins_cell(statement: Statement) -> bool:
    """Whether a statement is the first of a notebook's cell."""
    return any(
        line.comment is not None and line.comment.value.startswith(HEADER_MARK) for line in statement.leading_lines
    )


def _single_blanks(lines: Sequence[cst.EmptyLine], seam: int) -> list[cst.EmptyLine]:
    """Leading lines of two statements as those of one: blank lines at the seam stand once."""
    above, below = list(lines[:seam]), list(lines[seam:])
    while above and below and not above[-1].comment and not below[0].comment:
        above.pop()
    return [*above, *below]


def _one(command: Rewriting, original: cst.BaseStatement, updated: Statement) -> Iterator[cst.BaseStatement]:
    """What becomes of one statement."""
    if not isinstance(original, cst.SimpleStatementLine):
        assert isinstance(updated, cst.BaseCompoundStatement)
        yield from _changed(command, original, noted(updated, command.comments_of(original)))
        return
    assert isinstance(updated, cst.SimpleStatementLine)
    line = _with_comments(updated, command.comments_of(original))
    if len(original.body) == 1 and len(line.body) == 1:
        yield from _changed(command, original.body[0], line)
    elif not any(command.has_statement_operations(small) for small in original.body):
        yield line if line.body else _without(line)
    else:
        yield from _apart(command, original, line)


def _without(line: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
    return line.with_changes(body=[cst.Pass()])


def _apart(
    command: Rewriting, original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine
) -> Iterator[cst.BaseStatement]:
    """`a; b`, of which one changes, with a line for each."""
    leading = list(updated.leading_lines)
    for old, new in zip(original.body, updated.body, strict=True):
        line = cst.SimpleStatementLine(
            [new.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)],
            leading_lines=leading,
            trailing_whitespace=updated.trailing_whitespace if new is updated.body[-1] else cst.TrailingWhitespace(),
        )
        for found in _small(command, old, line):
            leading = []
            yield found


def _small(
    command: Rewriting, old: cst.BaseSmallStatement, line: cst.SimpleStatementLine
) -> Iterator[cst.BaseStatement]:
    yield from _changed(command, old, line)


def _with_comments(line: cst.SimpleStatementLine, comments: Sequence[cst.Comment]) -> cst.SimpleStatementLine:
    """A line with more comments: behind it what tells a tool something of the line, the others above it."""
    is_free = line.trailing_whitespace.comment is None and "\n" not in source(line).strip("\n")
    if comments and TOLD.match(comments[0].value) and is_free:
        behind = line.trailing_whitespace.with_changes(whitespace=cst.SimpleWhitespace("  "), comment=comments[0])
        line, comments = line.with_changes(trailing_whitespace=behind), comments[1:]
    return noted(line, comments)


def noted(statement: Noted, comments: Sequence[cst.Comment]) -> Noted:
    """A statement with more comments above it."""
    if not comments:
        return statement
    lines = [*statement.leading_lines, *(cst.EmptyLine(comment=comment) for comment in comments)]
    return statement.with_changes(leading_lines=lines)


def _changed(command: Rewriting, original: cst.CSTNode, updated: Statement) -> Iterator[cst.BaseStatement]:
    """What a statement has become after the operations on it."""
    if not isinstance(original, cst.BaseSmallStatement | cst.BaseCompoundStatement):
        yield updated
        return
    before: Made = []
    after: Made = []
    here: Made | None = None
    operations = command.statement_operations(original)
    indent = command.indent_of(original) if operations else ""
    for operation in operations:
        match operation:
            case Before():
                before += built(command, operation.code, indent)
            case After():
                after += built(command, operation.code, indent)
            case ReplaceStatement():
                here = built(command, operation.code, indent)
                here[:1] = [_commented(here[0], _inner_comments(updated, here))]
            case DropStatement() | None:
                here = []
            case First():
                updated = _with_first(command, updated, operation, indent)
            case Redecorate():
                updated = _redecorated(command, updated, original, operation)
            case Rename():
                updated = updated.with_changes(name=cst.Name(operation.name))
            case Enclose():
                updated, inner = _enclosed(command, original, updated, operation, indent)
                after = [inner, *after]
    statements = [*before, *([updated] if here is None else here), *after]
    if statements and statements[0] is not updated:
        statements = _taking_over(statements, updated)
    yield from statements


def _inner_comments(old: Statement, new: Made) -> list[cst.Comment]:
    """The comments within a statement, but for that behind it, that new ones do not have."""
    bare = old.with_changes(leading_lines=())
    if isinstance(bare, cst.SimpleStatementLine):
        bare = bare.with_changes(trailing_whitespace=cst.TrailingWhitespace())
    return lost_comments(bare, cst.IndentedBlock(new))


def _commented(statement: cst.BaseStatement, comments: Sequence[cst.Comment]) -> cst.BaseStatement:
    assert isinstance(statement, cst.SimpleStatementLine | cst.BaseCompoundStatement)
    lines = [*(cst.EmptyLine(comment=comment) for comment in comments), *statement.leading_lines]
    return statement.with_changes(leading_lines=lines) if comments else statement


def _taking_over(statements: Made, old: Statement) -> Made:
    """New statements before an old one: they take its place below what stands above it.

    Comments stay with the old one behind a function, which they are not about.
    """
    lines = list(old.leading_lines)
    top = _top_of_cell(lines)
    blanks = next((i for i, line in enumerate(lines[top:], top) if line.comment), len(lines))
    first = statements[0]
    assert isinstance(first, cst.SimpleStatementLine | cst.BaseCompoundStatement)
    if old in statements and isinstance(old, cst.SimpleStatementLine):
        above = statements[: statements.index(old)]
        blanks = len(lines) if all(isinstance(one, cst.SimpleStatementLine) for one in above) else blanks
    if old in statements:
        index = statements.index(old)
        statements[index] = old.with_changes(leading_lines=lines[blanks:])
        statements[0] = first.with_changes(leading_lines=[*lines[:blanks], *first.leading_lines])
        return statements
    last = statements[-1]
    behind = old.trailing_whitespace.comment if isinstance(old, cst.SimpleStatementLine) else None
    if behind is not None and not isinstance(last, cst.SimpleStatementLine):
        lines.append(cst.EmptyLine(comment=behind))
    statements[0] = first.with_changes(leading_lines=[*lines, *first.leading_lines])
    if isinstance(last, cst.SimpleStatementLine) and isinstance(old, cst.SimpleStatementLine):
        source_of = statements[0] if len(statements) == 1 else last
        assert isinstance(source_of, cst.SimpleStatementLine)
        statements[-1] = source_of.with_changes(trailing_whitespace=old.trailing_whitespace)
    return statements


def _top_of_cell(lines: Sequence[cst.EmptyLine]) -> int:
    """How many of the lines above a statement say that a cell begins, or are its magics: nothing goes above."""
    marks = (HEADER_MARK, MARK)
    comments = ((i, line.comment.value) for i, line in enumerate(lines, 1) if line.comment is not None)
    return max((i for i, comment in comments if comment.startswith(marks)), default=0)


def _with_first(command: Rewriting, function: Statement, operation: First, indent: str) -> Statement:
    assert isinstance(function, cst.FunctionDef)
    inner = indent + command.style.indent
    new = built(command, operation.code, inner)
    body = function.body
    if isinstance(body, cst.SimpleStatementSuite):
        lines = [cst.SimpleStatementLine([s.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]) for s in body.body]
        place = 0 if function.get_docstring() is None else 1
        block = cst.IndentedBlock([*lines[:place], *new, *lines[place:]], indent=command.block_indent)
        return function.with_changes(body=block)
    assert isinstance(body, cst.IndentedBlock)
    statements = list(body.body)
    place = 0 if function.get_docstring() is None else 1
    if place < len(statements):
        old = statements[place]
        assert isinstance(old, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        blanks = [line for line in old.leading_lines if not line.comment]
        rest = [line for line in old.leading_lines if line.comment]
        if isinstance(old, cst.FunctionDef | cst.ClassDef):
            rest.insert(0, EMPTY)  # a definition stands apart
        first = new[0]
        assert isinstance(first, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        new[0] = first.with_changes(leading_lines=blanks)
        statements[place] = old.with_changes(leading_lines=rest)
    return function.with_changes(body=body.with_changes(body=[*statements[:place], *new, *statements[place:]]))


def _redecorated(command: Rewriting, updated: Statement, original: cst.CSTNode, operation: Redecorate) -> Statement:
    assert isinstance(updated, cst.FunctionDef | cst.ClassDef)
    assert isinstance(original, cst.FunctionDef | cst.ClassDef)
    key = command.places.of_ast(operation.decorator)
    dropped = [command.places.of_ast(one) for one in operation.dropped]
    made: list[cst.Decorator] = []
    lost: list[cst.Comment] = []
    for old, new in zip(original.decorators, updated.decorators, strict=True):
        place = command.places.of_cst(old.decorator)
        if place in dropped:
            lost += lost_comments(new, cst.FunctionDef(cst.Name("f"), cst.Parameters(), cst.IndentedBlock([])))
            continue
        if place != key:
            made.append(new)
            continue
        fresh = list(_decorators(command, operation.decorators, command.indent_of(original), new.leading_lines))
        fresh[-1:] = [one.with_changes(trailing_whitespace=new.trailing_whitespace) for one in fresh[-1:]]
        lost += lost_comments(new, cst.FunctionDef(cst.Name("f"), cst.Parameters(), cst.IndentedBlock([]), fresh))
        made += fresh
    updated = updated.with_changes(decorators=made)
    lines = [*updated.leading_lines, *(cst.EmptyLine(comment=comment) for comment in lost)]
    return updated.with_changes(leading_lines=lines)


def _decorators(
    command: Rewriting, codes: Iterable[Code], indent: str, leading: Sequence[cst.EmptyLine]
) -> Iterator[cst.Decorator]:
    for index, code in enumerate(codes):
        room = replace(command.new_room(indent), column=len(indent) + 1)
        found = fitted(command.templates.expression(code), room)
        yield cst.Decorator(found, leading_lines=leading if index == 0 else ())


def _enclosed(
    command: Rewriting, original: cst.CSTNode, updated: Statement, operation: Enclose, indent: str
) -> tuple[cst.FunctionDef, cst.FunctionDef]:
    """A function around another one, and that one under its new name."""
    assert isinstance(updated, cst.FunctionDef)
    assert isinstance(original, cst.FunctionDef)
    dropped = {command.places.of_ast(decorator) for decorator in operation.dropped}
    outer = built(command, operation.code, indent)[0]
    assert isinstance(outer, cst.FunctionDef)
    kept = {command.places.of_ast(decorator) for decorator in operation.kept}
    decorators: list[cst.Decorator] = []
    below: list[cst.Decorator] = []
    fresh = list(_decorators(command, operation.decorators, indent, ()))
    comments: list[cst.Comment] = []
    for old, new in zip(original.decorators, updated.decorators, strict=True):
        if command.places.of_cst(old.decorator) not in dropped:
            (below if command.places.of_cst(old.decorator) in kept else decorators).append(new)
            continue
        comments += [c for c in comments_in(new) if c not in comments]
        decorators += fresh
        fresh = []
    is_alone = len(decorators) + len(below) + len(fresh) == len(operation.decorators)  # nobody else reads the types
    outer = outer.with_changes(
        decorators=[*decorators, *fresh],
        leading_lines=[*updated.leading_lines, *(cst.EmptyLine(comment=comment) for comment in comments)],
        lines_after_decorators=updated.lines_after_decorators,
    )
    outer = with_defaults(outer, updated, operation.defaults)
    if is_alone:
        outer = with_types(outer, updated)
    if is_alone or operation.defaults:
        outer = fitted_head(command, outer, indent)
    blanks = 2 if not indent else 1
    outer, updated = with_docstring(outer, updated)
    inner = renamed(command, updated, operation.name, indent)
    return outer, inner.with_changes(decorators=below, leading_lines=[EMPTY] * blanks, lines_after_decorators=())


_BUILT: dict[tuple[object, ...], tuple[cst.BaseStatement, ...]] = {}
MOST_BUILT = 1000  # texts that are kept


def built(command: Rewriting, code: Code, indent: str) -> Made:
    """New statements at some indentation, broken into lines that fit.

    Functions that files share are the same in each: what has no parts is built once for all of one style.
    """
    key = (code.text, indent, *command.templates.settings)
    if not code.parts and key in _BUILT:
        return [*_BUILT[key]]
    made = [_fitted_statement(command, s, indent) for s in command.templates.statements(code)]
    if not code.parts and len(_BUILT) < MOST_BUILT:
        _BUILT[key] = tuple(made)
    return made


def _fitted_statement(command: Rewriting, statement: cst.BaseStatement, indent: str) -> cst.BaseStatement:
    if isinstance(statement, cst.SimpleStatementLine):
        return statement.with_changes(body=[fitted_small(command, small, indent) for small in statement.body])
    body = getattr(statement, "body", None)
    if isinstance(body, cst.IndentedBlock):
        inner = indent + command.style.indent
        lines = [_fitted_statement(command, s, inner) for s in body.body]
        statement = statement.with_changes(body=body.with_changes(body=lines))
    if isinstance(statement, cst.FunctionDef):
        room = replace(command.new_room(indent), column=len(indent) + 1)
        above = [one.with_changes(decorator=fitted(one.decorator, room)) for one in statement.decorators]
        return fitted_head(command, statement.with_changes(decorators=above), indent)
    return statement


def fitted_small(command: Rewriting, small: cst.BaseSmallStatement, indent: str) -> cst.BaseSmallStatement:
    """A statement whose value is broken where it is too long for its line."""
    value = getattr(small, "value", None)
    if not isinstance(value, cst.BaseExpression):
        return small
    text, room = source(small), command.new_room(indent)
    if fits(text, room) and not may_be_exploded(text):
        return small
    before = len(text) - len(source(value)) if "\n" not in text else 0
    room = replace(room, column=room.column + before)
    bare = isinstance(value, cst.Tuple) and not value.lpar and isinstance(small, cst.Return | cst.Assign)
    if bare and "\n" not in source(value) and not fits(source(value), room):
        value = in_brackets(value)
    return small.with_changes(value=fitted(value, room))


def define(body: Body, definitions: Sequence[Define]) -> None:
    """Puts definitions below the imports and the docstring, before the first statement that uses one."""
    command = body.command
    made = [s for one in definitions for s in built(command, Code(one.text), "") if not _stands(body, s)]
    if not made:
        return
    lines = [line for one in definitions for node in one.uses if (line := getattr(node, "lineno", None)) is not None]
    place, above = _below_imports(body, lines)
    head = any(line.comment for line in body.module.header)
    blanks = 2 if place > 0 or above or (head and not command.cells) else 0
    if (above or _is_below_magics(body, place)) and command.cells and not _is_behind_import(body, place):
        blanks = 0  # right below the magics of a cell
    for index, statement in enumerate(made):
        assert isinstance(statement, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        apart = blanks if index == 0 else 2 if isinstance(statement, cst.BaseCompoundStatement) else 0
        comments = [line for line in statement.leading_lines if line.comment]
        leading = [*(above if index == 0 else ()), *[EMPTY] * apart, *comments]
        body.insert(place + index, statement.with_changes(leading_lines=leading))
    place += len(made)
    if place < len(body.statements):
        below = body.statements[place]
        rest = _below_blanks(below.leading_lines[len(above) :])
        body.statements[place] = below.with_changes(leading_lines=[EMPTY, EMPTY, *rest])


def _stands(body: Body, new: cst.BaseStatement) -> bool:
    """Whether a module has a definition already, word for word."""
    same = [one for one in body.statements if type(one) is type(new) and _name_of(one) == _name_of(new)]
    return any(source(one).strip() == source(new).strip() for one in same)


def _name_of(statement: cst.BaseStatement) -> str:
    """The name of a function or class."""
    return statement.name.value if isinstance(statement, cst.FunctionDef | cst.ClassDef) else ""


def _below_imports(body: Body, lines: Sequence[int]) -> tuple[int, Sequence[cst.EmptyLine]]:
    """The index for definitions that are used on some lines, and what stays above them of what leads it."""
    limit = body.first_of(lines)
    first = _first_of_cell(body, lines) if body.command.cells else 0
    place = first
    for index, statement in enumerate(body.statements[first:limit], first):
        if _imports_only(statement) or (index == 0 and _is_docstring(statement)):
            place = index + 1
        elif isinstance(statement, cst.FunctionDef | cst.ClassDef):
            break
    if place == len(body.statements):
        return place, ()
    leading = body.statements[place].leading_lines
    if place == first and body.command.cells:
        top = _cell_of(body, lines).body - (body.first_line(place) - len(leading)) + 1
        return place, leading[: max(0, top)]
    if _is_behind_import(body, place):  # a comment right below an import belongs to it
        return place, list(itertools.takewhile(lambda line: line.comment is not None, leading))
    return place, ()


def _is_below_magics(body: Body, place: int) -> bool:
    """Whether the statement at a place is the first of its cell below magics."""
    line = body.first_line(place)
    return any(cell.header < cell.body == line - 1 for cell in body.command.cells)


def _is_behind_import(body: Body, place: int) -> bool:
    return place > 0 and _imports_only(body.statements[place - 1])


def _cell_of(body: Body, lines: Sequence[int]) -> CellStart:
    """The cell that holds the first of some lines."""
    first = min(lines, default=1)
    return [cell for cell in body.command.cells if cell.header <= first or cell is body.command.cells[0]][-1]


def _first_of_cell(body: Body, lines: Sequence[int]) -> int:
    """The index of the first statement of the cell that holds the first of some lines."""
    top = _cell_of(body, lines).body  # the magics of a cell stand above that
    return next(index for index in range(len(body.statements) + 1) if body.first_line(index) > top)


def _imports_only(statement: cst.BaseStatement) -> bool:
    """Whether a statement is an import, or a try or if that holds one."""
    if isinstance(statement, cst.SimpleStatementLine):
        return any(isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body)
    if isinstance(statement, cst.Try | cst.If) and isinstance(statement.body, cst.IndentedBlock):
        return any(_imports_only(inner) for inner in statement.body.body)
    return False


def _is_docstring(statement: cst.BaseStatement) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    small = statement.body[0]
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString)
