"""Applies the operations of a plan to a file: the one transformer through which every rewrite goes."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import cast

import libcst as cst
from libcst.codemod import Codemod, CodemodContext, VisitorBasedCodemodCommand

from jaxmigrate.codemod import arguments, blocks, f_strings, imports
from jaxmigrate.codemod.aligned import realigned
from jaxmigrate.codemod.binding import bound
from jaxmigrate.codemod.body import Body
from jaxmigrate.codemod.excerpts import rewritten_in_parts
from jaxmigrate.codemod.form_feeds import with_form_feeds
from jaxmigrate.codemod.joined import joined
from jaxmigrate.codemod.layout import Room, comments_in, fits, fitted, lost_comments, source
from jaxmigrate.codemod.marks import marked
from jaxmigrate.codemod.places import Key, Places, holds
from jaxmigrate.codemod.rewriting import OfStatement
from jaxmigrate.codemod.rows import Rows
from jaxmigrate.codemod.said import READS_DOCS, is_map, maps, reworded, reworded_head, without_shapes
from jaxmigrate.codemod.style import Style
from jaxmigrate.codemod.templates import Templates
from jaxmigrate.program.operations import (
    HOLE,
    After,
    Before,
    Code,
    Define,
    DropAlias,
    DropArgument,
    DropIndex,
    DropStatement,
    Enclose,
    First,
    Import,
    Mark,
    Marked,
    NameArgument,
    Operation,
    Part,
    Redecorate,
    Rename,
    Replace,
    ReplaceAlias,
    ReplaceStatement,
    SetKeyword,
    Unbind,
)
from jaxmigrate.sources.containers import CellStart
from jaxmigrate.sources.notebooks import cell_starts
from jaxmigrate.sources.notebooks.magics import MARK

OF_CALLS = SetKeyword | NameArgument | DropArgument
LEAVES = cst.BaseParenthesizableWhitespace | cst.TrailingWhitespace | cst.EmptyLine | cst.Comma | cst.AssignEqual
STATEMENTS = cst.SimpleStatementLine | cst.BaseCompoundStatement
ITS_LINES = re.compile(r",\s*\n\s*[)\]}]")  # behind the last element of brackets, each of which has a line
FEW_LINES = 3  # breaks of a tuple that is laid out anew where a map stands in it


def rewritten(
    text: str,
    operations: Sequence[Operation],
    style: Style,
    *,
    marks: bool = False,
    statements: Sequence[ast.stmt] = (),
) -> str:
    """A text after all operations; `statements` of its module, where they are at hand, let a long one be done in parts.

    Raises:
        cst.ParserSyntaxError: LibCST does not parse the text.
        LookupError: An operation names a node that the text does not have.
    """
    whole = partial(_rewritten_at_once, style=style, marks=marks, docstrings=READS_DOCS.search(text) is None)
    parts = None if cell_starts(text) else rewritten_in_parts(text, operations, statements, whole)
    return whole(text, operations) if parts is None else parts


def _rewritten_at_once(
    text: str, operations: Sequence[Operation], style: Style, *, marks: bool, docstrings: bool
) -> str:
    command = ApplyOperations(CodemodContext(), operations, style, marks=marks, text=text, docstrings=docstrings)
    after = command.transform_module(cst.parse_module(text)).code
    if text.endswith("\r") and not after.endswith("\r"):  # which LibCST drops
        after += "\r"
    return with_form_feeds(text, after) if "\f" in text else after


class ApplyOperations(VisitorBasedCodemodCommand):
    """Applies typed operations on nodes that are found by their position."""

    DESCRIPTION = "Applies the operations of a plan."

    def __init__(
        self,
        context: CodemodContext,
        operations: Iterable[Operation],
        style: Style,
        *,
        marks: bool = False,
        text: str = "",
        docstrings: bool = True,
    ) -> None:
        # Not that of the base, which asks all attributes for matchers, 20 ms long; here are none.
        Codemod.__init__(self, context)
        self._given = text  # as it is where the tree has lost something of it
        self.operations = list(operations)
        self.style = style
        self.marks = marks
        self._docstrings = docstrings  # those of mapped functions say what maps them

    def transform_module(self, tree: cst.Module) -> cst.Module:
        """The module after all operations."""
        self._prepare(tree)
        changed = tree.visit(self)
        assert isinstance(changed, cst.Module)
        left = [type(op).__name__ for ops in self._waiting() for op in ops]
        if left:
            raise LookupError(f"found no place for {', '.join(left)}")
        return changed

    def _prepare(self, tree: cst.Module) -> None:
        self.tree = tree
        self._given = self._given or tree.code
        self.places = Places(tree, self._given)
        self._rows = Rows(self.places)
        self.cells: Sequence[CellStart] = cell_starts(self._given)
        self.lines_count = len(self.places.lines)
        self.block_indent = None if self.style.indent == tree.default_indent else self.style.indent
        self._expressions: defaultdict[Key, list[Replace | Mark]] = defaultdict(list)
        self._calls: defaultdict[Key, list[OF_CALLS]] = defaultdict(list)
        self._statements: defaultdict[Key, list[OfStatement]] = defaultdict(list)
        self._indices: defaultdict[Key, list[int]] = defaultdict(list)
        self._aliases: defaultdict[Key, list[DropAlias | ReplaceAlias]] = defaultdict(list)
        self._items: set[Key] = set()
        self._holes: set[Key] = set()
        self._lines_touched: list[int] = []
        self._touched: list[tuple[int, int]] = []  # where the nodes of operations begin
        self._new: dict[int, cst.CSTNode] = {}  # expressions that stand where others did
        self._finished: dict[Key, cst.BaseExpression] = {}
        self._around: list[STATEMENTS] = []
        self._carried: set[str] = set()  # comments that new code brings itself
        self._stated: set[Key] = set()  # nodes that new statements hold
        self._brought: defaultdict[int, Counter[str]] = defaultdict(Counter)  # by statement, the comments in these
        self._comments: defaultdict[int, list[cst.Comment]] = defaultdict(list)
        self._maps: set[int] = set()  # statements in which a map is written
        self._making: set[int] = set()  # functions that make one
        self._emptied: set[Key] = set()  # imports of which nothing is left
        self._moved: list[imports.Moved] = []
        for operation in self.operations:
            if self.marks or not isinstance(operation, Mark):
                self._take(operation)
        self._lines_touched.sort()
        self._touched.sort()
        self.places.find(self._lines_touched)
        head = [small for small in imports.head(tree.body, self) if self.places.knows(small)]
        self._head = {self.places.of_cst(small) for small in head}
        self.templates = Templates(tree, self.style, self._found, marks=self.marks)

    def _take(self, operation: Operation) -> None:
        """Notes an operation under the key of its node."""
        match operation:
            case Replace() | Mark():
                self._expressions[self._key(operation.node)].append(operation)
            case DropIndex():
                self._indices[self._key(operation.subscript)].append(operation.place)
            case SetKeyword() | NameArgument() | DropArgument():
                self._calls[self._key(operation.call)].append(operation)
            case First() | Enclose() | Redecorate() | Rename():
                self._statements[self._key(operation.function)].append(operation)
            case Before() | After() | ReplaceStatement() | DropStatement():
                self._statements[self._key(operation.statement)].append(operation)
            case DropAlias() | ReplaceAlias():
                self._aliases[self._key(operation.statement)].append(operation)
            case Unbind():
                self._items.add(self._key(operation.item.context_expr))
        for found in _codes(operation):
            held = set(self._keys_in(found))
            self._holes |= held
            self._stated |= held if isinstance(operation, Before | After | First) else set()
            self._carried.update(_comments_of(found.text))

    def _keys_in(self, code: Code) -> Iterator[Key]:
        """The keys of the nodes of the file in some code."""
        for part in code.parts.values():
            inner = part.part if isinstance(part, Marked) else part
            if isinstance(inner, Code):
                yield from self._keys_in(inner)
            else:
                yield self._key(inner)

    def _key(self, node: ast.AST) -> Key:
        self._lines_touched.append(cast("ast.expr", node).lineno)
        self._touched.append(self.places.start_of_ast(cast("ast.expr", node)))
        return self.places.of_ast(node)

    def _waiting(self) -> Iterator[Sequence[object]]:
        """The operations whose nodes were not found."""
        for table in (self._expressions, self._calls, self._statements, self._aliases):
            yield from cast("Iterable[Sequence[object]]", table.values())
        yield from cast("Iterable[Sequence[object]]", ([Unbind] for _ in self._items))

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Whether to go into a node: only what holds a node of some operation is built anew."""
        if isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            if not self._is_touched(node):
                return False
            self._around.append(node)
            return True
        if isinstance(node, cst.BaseExpression):
            goes = not self.places.knows(node) or holds(self._touched, self.places.start(node), self.places.end(node))
            if isinstance(node, cst.Call):
                self._rows.enter(node)
            return goes
        return not isinstance(node, LEAVES)

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Nothing: LibCST would ask each of its matchers, of which there are none here."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Nothing, likewise."""

    def _is_touched(self, node: STATEMENTS) -> bool:
        if not self.places.knows(node):
            return False
        decorators = getattr(node, "decorators", ())
        first, _ = self.places.start(decorators[0] if decorators else node)
        return holds(self._lines_touched, first, self.places.end(node)[0])

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> cst.CSTNodeT:
        """A node with the operations on it applied."""
        node: cst.CSTNode = bound(updated_node, lambda part: id(part) in self._new) if self._new else updated_node
        if isinstance(node, cst.FormattedString) and node is not original_node:
            node = f_strings.fit_in(node)
        if isinstance(original_node, cst.BaseExpression):
            made = self._expression(original_node, cast("cst.BaseExpression", node))
            if isinstance(original_node, cst.Call):
                self._rows.leave()
            if made is not node:
                self._new[id(made)] = node = made
        elif isinstance(original_node, cst.WithItem):
            node = self._item(original_node, cast("cst.WithItem", node))
        elif isinstance(original_node, cst.Import | cst.ImportFrom):
            node = self._import(original_node, cast("cst.Import | cst.ImportFrom", node))
        elif isinstance(original_node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            if self._around and self._around[-1] is original_node:
                node = self._statement(original_node, node)
                self._around.pop()
        elif isinstance(original_node, cst.IndentedBlock | cst.SimpleStatementSuite):
            node = blocks.suite(self, original_node, cast("cst.IndentedBlock | cst.SimpleStatementSuite", node))
        elif isinstance(original_node, cst.Module):
            node = self._module(original_node, cast("cst.Module", node))
        return cast("cst.CSTNodeT", node)

    def _statement(self, original: STATEMENTS, updated: cst.CSTNode) -> cst.CSTNode:
        """A statement after what has become of its parts, with comments that are true of it."""
        node = self._line(original, updated)
        if id(original) in self._maps or any(map(maps, self._operations_on(original))):
            node = reworded(cast("STATEMENTS", node), docstring=self._docstrings)
            around = next((one for one in reversed(self._around[:-1]) if isinstance(one, cst.FunctionDef)), None)
            self._making |= {id(around)} if around is not None else set()
        elif id(original) in self._making and isinstance(node, cst.FunctionDef):
            node = reworded_head(node, self.style.width, docstring=self._docstrings)
        return without_shapes(original, node) if node is not original else node

    def _operations_on(self, node: STATEMENTS) -> Sequence[OfStatement]:
        """The operations on a statement itself, which wait for the block around it."""
        whole = node.body[0] if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 else node
        return self._statements.get(self.places.of_cst(whole), ()) if self.places.knows(whole) else ()

    def _module(self, original: cst.Module, updated: cst.Module) -> cst.Module:
        body = Body(self, original, updated)
        imports.add(body, [op for op in self.operations if isinstance(op, Import)], self._moved)
        blocks.define(body, [op for op in self.operations if isinstance(op, Define)])
        return blocks.module(body)

    def is_emptied(self, node: cst.CSTNode) -> bool:
        """Whether nothing is left of an import."""
        return self.places.knows(node) and self.places.of_cst(node) in self._emptied

    def statement_operations(self, node: cst.CSTNode) -> list[OfStatement | None]:
        """The operations on a statement, which wait no longer; None drops it."""
        if not self.places.knows(node):
            return []
        key = self.places.of_cst(node)
        found = sorted(self._statements.pop(key, []), key=lambda op: isinstance(op, Enclose))  # bodies first
        return [*found, *([None] if key in self._emptied else [])]

    def has_statement_operations(self, node: cst.CSTNode) -> bool:
        """Whether some operation is on a statement."""
        key = self.places.of_cst(node) if self.places.knows(node) else ()
        return key in self._statements or key in self._emptied

    def drops_comments(self, node: cst.CSTNode) -> bool:
        """Whether a statement is to be dropped with the comments that are about it alone."""
        found = self._statements.get(self.places.of_cst(node), ()) if self.places.knows(node) else ()
        return any(isinstance(one, DropStatement) and one.commented for one in found)

    def comments_of(self, node: cst.CSTNode) -> list[cst.Comment]:
        """Comments that stood in a statement where new code stands now."""
        return self._comments.pop(id(node), [])

    def _found(self, part: Part) -> cst.BaseExpression:
        """What a node of the file has become."""
        assert isinstance(part, ast.expr)
        key = self.places.of_ast(part)
        if key not in self._finished:
            raise LookupError(f"found no {type(part).__name__} in line {part.lineno}")
        found = self._finished[key]
        if isinstance(part, ast.Starred):
            return cst.StarredElement(value=found)  # the filler makes it an argument
        return found

    def _import(
        self, original: cst.Import | cst.ImportFrom, updated: cst.Import | cst.ImportFrom
    ) -> cst.Import | cst.ImportFrom:
        key = self.places.of_cst(original)
        found = self._aliases.pop(key, [])
        if not found:
            return updated
        moves = key in self._head and not any(comments_in(self._around[-1]))
        changed = imports.changed(self, original, updated, found, moves=moves)
        self._moved += changed.moved
        for code in changed.below:
            self._statements[key].append(After(found[0].statement, code))
        if changed.statement is None:
            self._emptied.add(key)
        return updated if changed.statement is None else changed.statement

    def _item(self, original: cst.WithItem, updated: cst.WithItem) -> cst.WithItem:
        key = self.places.of_cst(original.item)
        if key not in self._items:
            return updated
        self._items.remove(key)
        if updated.asname is not None:
            self.keep_comments(updated.asname, cst.Pass())
        return updated.with_changes(asname=None)

    def _expression(self, original: cst.BaseExpression, updated: cst.BaseExpression) -> cst.BaseExpression:
        key = self.places.of_cst(original)
        node = updated
        if isinstance(original, cst.Call):
            node = self._call(original, cast("cst.Call", node), self._calls.pop(key, ()))
        if isinstance(original, cst.Subscript) and key in self._indices:
            node = _without_indices(cast("cst.Subscript", node), self._indices.pop(key))
        operations = self._expressions.pop(key, ())
        for operation in operations:
            if isinstance(operation, Replace):
                if key in self._holes:
                    self._finished[key] = node  # new code may name the node that it takes the place of
                node = self._replaced(original, node, operation)
        for operation in operations:
            if isinstance(operation, Mark):
                node = marked(node, operation.site, mapped=operation.mapped, host=operation.host)
        if key in self._stated and self._around:
            self._brought[id(self._around[-1])].update(comment.value for comment in comments_in(node))
        if key in self._holes:
            self._finished[key] = node
        elif ("star", key) in self._holes:
            self._finished["star", key] = node
        return node

    def _call(self, original: cst.Call, updated: cst.Call, operations: Sequence[OF_CALLS]) -> cst.Call:
        """A call after what has become of its parts, and operations on its arguments."""
        node = arguments.changed(self, original, updated, operations) if operations else updated
        if any(arg.star == "*" and id(arg.value) in self._new for arg in node.args):
            node = arguments.spread(self, original, node, lambda one: id(one) in self._new)
        if node.func is not original.func:
            node = realigned(original, node, self.room(original))
        return self._rows.broken(original, node, self.room(original)) if self._rows.has(original) else node

    def _replaced(
        self, original: cst.BaseExpression, node: cst.BaseExpression, operation: Replace
    ) -> cst.BaseExpression:
        new = self.templates.expression(operation.code, node)
        if self._around and is_map(operation.code):
            self._maps.add(id(self._around[-1]))
        if original.lpar and not new.lpar and _spans_lines(original):
            new = new.with_changes(lpar=original.lpar, rpar=original.rpar)
        self.keep_comments(node, new, original)
        later = self.breaks_later() or self._rows.take(original)
        return new if later else fitted(new, self.room(original))

    def breaks_later(self) -> bool:
        """Whether the statement around stands on one line, so that all of it is broken anew where it has grown."""
        statement = self._around[-1] if self._around else None
        if not isinstance(statement, cst.SimpleStatementLine):
            return False
        return self.places.start(statement)[0] == self.places.end(statement)[0]

    def _line(self, original: cst.CSTNode, updated: cst.CSTNode) -> cst.CSTNode:
        """A statement of one line, broken where it has grown too long."""
        if not isinstance(updated, cst.SimpleStatementLine) or len(updated.body) != 1:
            return updated
        if not self.breaks_later():
            return self._laid_out_anew(original, updated)
        comment = updated.trailing_whitespace.comment
        if self.cells and comment is not None and MARK in comment.value:
            return updated  # a magic takes one line
        indent = self.indent_of(original)
        return updated.with_changes(body=[blocks.fitted_small(self, updated.body[0], indent)])

    def _laid_out_anew(self, original: cst.CSTNode, updated: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        """A statement of several lines, on one where it has become so short; a tuple with a map on others."""
        old = original.body[0] if isinstance(original, cst.SimpleStatementLine) else cst.Pass()
        new, value, other = updated.body[0], getattr(updated.body[0], "value", None), getattr(old, "value", None)
        before, after = source(old), source(new)
        if before == after or "\n" not in after or ITS_LINES.search(before):
            return updated
        if not isinstance(value, cst.BaseExpression) or not isinstance(other, cst.BaseExpression):
            return updated
        indent = self.indent_of(original)
        room = self.new_room(indent)
        one, was = (
            new.with_changes(value=joined(value, commas=True)),
            old.with_changes(value=joined(other, commas=True)),
        )
        if fits(source(one), room):
            return updated if fits(source(was), room) else updated.with_changes(body=[one])
        is_short = isinstance(value, cst.Tuple) and 0 < before.count("\n") <= FEW_LINES
        if id(original) not in self._maps or not is_short:
            return updated
        return updated.with_changes(body=[blocks.fitted_small(self, one, indent)])

    def keep_comments(self, old: cst.CSTNode, new: cst.CSTNode, given: cst.CSTNode | None = None) -> None:
        """Comments that new code has no place for go above the statement."""
        statement = id(self._around[-1])
        for one in lost_comments(old, new, given):
            if self._brought[statement][one.value]:
                self._brought[statement][one.value] -= 1  # it stands in a new statement
            elif one.value not in self._carried:
                self._comments[statement].append(one)

    def room(self, node: cst.CSTNode) -> Room:
        """Where a node of the file stands."""
        line, column = self.places.start(node)
        last, end = self.places.end(node)
        first = self.places.lines[line - 1]
        indent = first[: len(first) - len(first.lstrip(" \t"))]
        start, _ = self.places.start(self._around[-1]) if self._around else (line, 0)
        outer = self.places.lines[start - 1]
        block = outer[: len(outer) - len(outer.lstrip(" \t"))]
        behind = len(self.places.lines[last - 1].rstrip()) - end
        return Room(block, indent, column, behind, self.style)

    def new_room(self, indent: str) -> Room:
        """Where a new statement at some indentation stands."""
        return Room(indent, indent, len(indent), 0, self.style)

    def indent_of(self, node: cst.CSTNode) -> str:
        """The indentation of the line on which a node of the file begins."""
        line, _ = self.places.start(node)
        text = self.places.lines[line - 1]
        return text[: len(text) - len(text.lstrip(" \t"))]


def _codes(operation: Operation) -> Iterator[Code]:
    """All new code of an operation."""
    if not isinstance(
        operation,
        Mark
        | NameArgument
        | DropArgument
        | DropIndex
        | DropStatement
        | Import
        | Define
        | DropAlias
        | ReplaceAlias
        | Redecorate
        | Rename
        | Unbind,
    ):
        yield operation.code
    if isinstance(operation, Enclose | Redecorate):
        yield from operation.decorators


def _comments_of(text: str) -> Iterator[str]:
    """The comments that new code brings."""
    if "#" in text:
        lines = io.StringIO(HOLE.sub("_", text)).readline
        yield from (token.string for token in tokenize.generate_tokens(lines) if token.type == tokenize.COMMENT)


def _without_indices(node: cst.Subscript, places: Sequence[int]) -> cst.Subscript:
    kept = [element for i, element in enumerate(node.slice) if i not in places]
    return node.with_changes(slice=[*kept[:-1], kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)])


def _spans_lines(node: cst.BaseExpression) -> bool:
    """Whether the parentheses around an expression hold line breaks or comments, which need them."""
    return "\n" in source(node)
