"""Breaks new code into lines no longer than a file's, the outermost brackets first.

An element stands on a line of its own, as Black has it, or in files that do so, on one line with others. Only brackets
that templates brought are broken; what a file's author wrote keeps its own lines.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from jaxmigrate.codemod.marks import MARKS, is_mark, without_marks
from jaxmigrate.codemod.style import Style

_PRINTER = cst.Module(body=())


@dataclass(frozen=True, slots=True)
class Room:
    """Where an expression stands: `block` indents its statement, `line` its line, `column` is where it begins.

    `behind` characters follow it on its last line.
    """

    block: str
    line: str
    column: int
    behind: int
    style: Style

    @property
    def width(self) -> int:
        """How long a line may be."""
        return self.style.width

    def inside(self, before: int = 0, behind: int = 1) -> Room:
        """The room on a line of its own within brackets that begin here, after `before` characters."""
        line = self.line + self.style.indent
        return replace(self, line=line, column=len(line) + before, behind=behind)


def source(node: cst.CSTNode) -> str:
    """The source of a node, without the marks of a verification."""
    text = _PRINTER.code_for_node(node)
    return _PRINTER.code_for_node(without_marks(node)) if MARKS in text else text


def comments_in(node: cst.CSTNode) -> Iterator[cst.Comment]:
    """The comments in a node."""
    if isinstance(node, cst.Comment):
        yield node
    for child in node.children:
        yield from comments_in(child)


def lost_comments(old: cst.CSTNode, new: cst.CSTNode) -> list[cst.Comment]:
    """The comments of a node that another one does not have."""
    lost = Counter(c.value for c in comments_in(old)) - Counter(c.value for c in comments_in(new))
    found: list[cst.Comment] = []
    for comment in comments_in(old):
        if lost[comment.value] > 0:
            lost[comment.value] -= 1
            found.append(comment)
    return found


def fits(text: str, room: Room) -> bool:
    """Whether a text stays within the width; it has one line."""
    return "\n" not in text and room.column + len(text) + room.behind <= room.width


def fitted(node: cst.BaseExpression, room: Room) -> cst.BaseExpression:
    """An expression broken so that its lines stay within the width, as far as brackets of its own allow."""
    if is_mark(node):
        assert isinstance(node, cst.Call)
        name, value = node.args
        return node.with_changes(args=(name, value.with_changes(value=fitted(value.value, room))))
    if fits(source(node), room) or isinstance(node, cst.FormattedString):
        return node
    if isinstance(node, cst.Call):
        return _call(node, room)
    if isinstance(node, cst.Tuple) and node.lpar and node.elements:
        return _tuple(node, room)
    if isinstance(node, cst.List | cst.Set | cst.Dict) and node.elements:
        return node if _has_lines(node) else _container(node, room)
    if isinstance(node, cst.Lambda):
        before = len(source(node)) - len(source(node.body))
        return node.with_changes(body=fitted(node.body, replace(room, column=room.column + before)))
    if isinstance(node, cst.Subscript | cst.Attribute):
        behind = len(source(node)) - len(source(node.value)) + room.behind
        return node.with_changes(value=fitted(node.value, replace(room, behind=behind)))
    return _inside(node, room)


def _inside(node: cst.BaseExpression, room: Room) -> cst.BaseExpression:
    """An expression of another kind, of which the first part that can be broken is."""
    text = source(node)
    if "\n" in text:
        return node
    for child in _expressions(node):
        part = source(child)
        before = text.find(part)
        behind = len(text) - before - len(part) + room.behind
        broken = fitted(child, replace(room, column=room.column + before, behind=behind))
        if broken is not child:
            found = node.deep_replace(child, broken)
            assert isinstance(found, cst.BaseExpression)
            return found
    return node


def _expressions(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The expressions right below a node, those within brackets first."""
    found: list[cst.BaseExpression] = []
    for child in node.children:
        found += [child] if isinstance(child, cst.BaseExpression) else _expressions(child)
    return sorted(found, key=lambda one: not isinstance(one, cst.Call))


def _call(node: cst.Call, room: Room) -> cst.Call:
    """A call on several lines: of what a call gives, `f(...)(x)`, the inner brackets are broken."""
    func = node.func
    opening = len(source(func)) + 1
    if isinstance(func, cst.Attribute) and room.column + opening > room.width:
        func = fitted(func, replace(room, behind=1))
        node = node.with_changes(func=func)
        last = source(func).rpartition("\n")[2]
        room = replace(room, column=len(last) - len(source(func)))
        if fits(source(node).rpartition("\n")[2], replace(room, column=0)):
            return node
    if isinstance(func, cst.Call) or (is_mark(func)):
        behind = len(source(node)) - len(source(func)) + room.behind
        inner = fitted(func, replace(room, behind=behind))
        if inner is not func:
            return node.with_changes(func=inner)
    if not node.args or _has_breaks(node):
        return node
    parts = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in node.args]
    inside = room.inside()
    whole = ", ".join(source(arg) for arg in parts)
    if fits(whole, replace(inside, behind=0)):
        args: Sequence[cst.Arg] = [
            arg.with_changes(comma=_comma(" ") if i + 1 < len(parts) else cst.MaybeSentinel.DEFAULT)
            for i, arg in enumerate(parts)
        ]
        end = args[-1].with_changes(whitespace_after_arg=_break(room, room.line))
        args = [*args[:-1], end]
    else:
        args = [_argument(arg, inside) for arg in parts]
        ends = separators([source(arg) for arg in args], inside)
        trailing = len(args) > 1 and not room.style.fills  # of an only argument Black leaves none
        args = [
            *(arg.with_changes(comma=cst.Comma(whitespace_after=end)) for arg, end in zip(args, ends, strict=False)),
            _last(args[-1], _break(room, room.line), comma=trailing),
        ]
    return node.with_changes(args=args, whitespace_before_args=_break(room, inside.line))


def separators(texts: Sequence[str], room: Room) -> list[cst.BaseParenthesizableWhitespace]:
    """What stands between the elements of brackets: line breaks, or spaces where a file fills its lines."""
    found: list[cst.BaseParenthesizableWhitespace] = []
    column = room.column + len(texts[0])
    for before, text in itertools.pairwise(texts):
        column += len(", ") + len(text)
        if room.style.fills and "\n" not in before + text and column < room.width:
            found.append(cst.SimpleWhitespace(" "))
        else:
            found.append(_break(room, room.line))
            column = room.column + len(text)
    return found


def _last(arg: cst.Arg, end: cst.ParenthesizedWhitespace, *, comma: bool) -> cst.Arg:
    """The last argument of a call, with the line break behind it."""
    if comma:
        return arg.with_changes(comma=cst.Comma(whitespace_after=end))
    return arg.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=end)


def _argument(arg: cst.Arg, room: Room) -> cst.Arg:
    before = len(source(arg)) - len(source(arg.value))
    return arg.with_changes(value=fitted(arg.value, replace(room, column=room.column + before)))


def _tuple(node: cst.Tuple, room: Room) -> cst.Tuple:
    """A display in parentheses on several lines, its elements on one where they fit."""
    inside = room.inside()
    parts = [e.with_changes(comma=cst.MaybeSentinel.DEFAULT) for e in node.elements]
    whole = ", ".join(source(e.value) for e in parts)
    if fits(whole, inside) and len(parts) > 1:
        elements = [
            e.with_changes(
                comma=_comma(" ") if i + 1 < len(parts) else cst.Comma(whitespace_after=_break(room, room.line))
            )
            for i, e in enumerate(parts)
        ]
    else:
        values = [fitted(e.value, inside) for e in parts]
        ends = [*separators([source(value) for value in values], inside), _break(room, room.line)]
        elements = [
            e.with_changes(value=value, comma=cst.Comma(whitespace_after=end))
            for e, value, end in zip(parts, values, ends, strict=True)
        ]
    opening = cst.LeftParen(whitespace_after=_break(room, inside.line))
    return node.with_changes(elements=elements, lpar=[*node.lpar[:-1], opening])


def _container(node: cst.List | cst.Set | cst.Dict, room: Room) -> cst.BaseExpression:
    """A list, set or dictionary with a line for each element."""
    inside = room.inside()
    ends = [_break(room, inside.line)] * (len(node.elements) - 1) + [_break(room, room.line)]
    elements = []
    for element, end in zip(node.elements, ends, strict=True):
        before = len(source(element.with_changes(comma=cst.MaybeSentinel.DEFAULT))) - len(source(element.value))
        value = fitted(element.value, replace(inside, column=inside.column + before))
        elements.append(element.with_changes(value=value, comma=cst.Comma(whitespace_after=end)))
    opening = _break(room, inside.line)
    if isinstance(node, cst.List):
        return node.with_changes(elements=elements, lbracket=cst.LeftSquareBracket(whitespace_after=opening))
    return node.with_changes(elements=elements, lbrace=cst.LeftCurlyBrace(whitespace_after=opening))


def _comma(space: str) -> cst.Comma:
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(space))


def _break(room: Room, line: str) -> cst.ParenthesizedWhitespace:
    """A line break behind which the next line is indented like `line`."""
    return cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(line[len(room.block) :]), indent=True)


def _has_lines(node: cst.List | cst.Set | cst.Dict) -> bool:
    """Whether the elements of a display stand on lines of their own already."""
    opening = node.lbracket if isinstance(node, cst.List) else node.lbrace
    return isinstance(opening.whitespace_after, cst.ParenthesizedWhitespace)


def _has_breaks(node: cst.Call) -> bool:
    """Whether the author broke a call's lines between its arguments already."""
    spaces = [
        node.whitespace_before_args,
        *(a.comma.whitespace_after for a in node.args if isinstance(a.comma, cst.Comma)),
    ]
    return any(isinstance(space, cst.ParenthesizedWhitespace) for space in spaces)
