"""Breaks new code into lines no longer than a file's, the outermost brackets first.

An element stands on a line of its own, as Black has it, or in files that do so, on one line with others and the bracket
that closes them. Only brackets that templates brought are broken; what a file's author wrote keeps its own lines.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import libcst as cst

from jaxmigrate.codemod.marks import MARKS, is_mark, without_marks
from jaxmigrate.codemod.style import Style

_PRINTER = cst.Module(body=())


class OwnLines(cst.Comma):
    """The comma behind the last of elements that stood on a line each, which they keep wherever they go."""


_Node = TypeVar("_Node", bound=cst.BaseExpression)


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

    def inside(self) -> Room:
        """The room on a line of its own within brackets that begin here."""
        line = self.line + self.style.continuation
        return replace(self, line=line, column=len(line), behind=1)

    def last(self) -> Room:
        """The room of the last element within brackets that begin here."""
        return replace(self.inside(), behind=self.behind + 1) if self.style.hangs else self.inside()


OF_ARGUMENTS = re.compile(  # `# donate_argnums=(0, 1))` that was put out, and what is said of what only pmap has
    r"^#\s*(?:axis_name|donate_argnums|out_axes|devices|backend)\s*=\s*[\w(\[\"']|\b(?:in_axes|static_broadcasted_argnums)\b"
)


def source(node: cst.CSTNode) -> str:
    """The source of a node, without the marks of a verification."""
    text = _PRINTER.code_for_node(node)
    return _PRINTER.code_for_node(without_marks(node)) if MARKS in text else text


def comments_in(node: cst.CSTNode) -> Iterator[cst.Comment]:
    """The comments in a node, in the order of its text."""
    if _has_comments(node):
        yield from _comments_in(node)


def _comments_in(node: cst.CSTNode) -> Iterator[cst.Comment]:
    if isinstance(node, cst.Comment):
        yield node
    for child in node.children:
        yield from _comments_in(child)


def _has_comments(node: cst.CSTNode) -> bool:
    """Whether a comment stands in a node: most have none, and `children` builds a node anew to list them in order."""
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if type(one) is cst.Comment:
            return True
        waiting += one if isinstance(one, list | tuple) else [getattr(one, name) for name in _fields(one.__class__)]
    return False


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind)) if issubclass(kind, cst.CSTNode) else ()


def lost_comments(old: cst.CSTNode, new: cst.CSTNode, given: cst.CSTNode | None = None) -> list[cst.Comment]:
    """The comments of a node that another one does not have; none of arguments of pmap, which went with its call.

    `given` is the node as the file has it, where changes may have set parts of it in two places.
    """
    comments = list(comments_in(old))
    if not comments:
        return []
    if "pmap" in source(old):
        comments = [one for one in comments if not OF_ARGUMENTS.search(one.value)]
    had = Counter(c.value for c in comments)
    if given is not None:
        had &= Counter(c.value for c in comments_in(given))
    lost = had - Counter(c.value for c in comments_in(new))
    found: list[cst.Comment] = []
    for comment in comments:
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
    text = source(node)
    exploded = _is_exploded(node, text, room.style)
    if isinstance(node, cst.FormattedString) or (fits(text, room) and not exploded):
        return node
    room = _for_own_lines(node, room)
    if isinstance(node, cst.Call):
        return _call(node, room)
    if isinstance(node, cst.Tuple) and node.lpar and node.elements:
        return _tuple(node, room)
    if isinstance(node, cst.List | cst.Set | cst.Dict) and node.elements:
        return moved(node, node.elements[-1], room) if _has_lines(node) else _container(node, room)
    if isinstance(node, cst.Lambda):
        before = len(source(node)) - len(source(node.body))
        return node.with_changes(body=fitted(node.body, replace(room, column=room.column + before)))
    if isinstance(node, cst.Subscript | cst.Attribute):
        behind = len(source(node)) - len(source(node.value)) + room.behind
        return node.with_changes(value=fitted(node.value, replace(room, behind=behind)))
    return _inside(node, room)


def may_be_exploded(text: str) -> bool:
    """Whether a comma may stand behind the last element of brackets."""
    return any(end in text for end in (",)", ",]", ",}"))


def _is_exploded(node: cst.CSTNode, text: str, style: Style) -> bool:
    """Whether a comma behind the last element of brackets says that each has a line of its own, as Black reads it.

    In a file that fills its lines, only where its author gave each element one.
    """
    if not may_be_exploded(text):
        return False
    comma = _last_comma(node)
    if isinstance(comma, OwnLines) or (isinstance(comma, cst.Comma) and not style.fills):
        return True
    return any(_is_exploded(child, text, style) for child in node.children)


def _last_comma(node: cst.CSTNode) -> object:
    """What stands behind the last element of brackets; nothing behind the only one of a tuple, which needs it."""
    elements = node.args if isinstance(node, cst.Call) else getattr(node, "elements", ())
    alone = isinstance(node, cst.Tuple) and len(elements) == 1
    return elements[-1].comma if elements and not alone else None


def _for_own_lines(node: cst.CSTNode, room: Room) -> Room:
    """The room of brackets whose author gave each element a line, also in a file that fills others."""
    if not (room.style.fills and isinstance(_last_comma(node), OwnLines)):
        return room
    return replace(room, style=replace(room.style, fills=False, hangs=False))


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
    first = room.column + opening <= room.width and "\n" not in source(func)  # of what is called, nothing needs a break
    if isinstance(func, cst.Call) and not (first and node.args and room.style.hangs):
        behind = len(source(node)) - len(source(func)) + room.behind
        inner = fitted(func, replace(room, behind=behind))
        if inner is not func:
            broken = node.with_changes(func=inner)
            if not node.args or fits(source(broken).rpartition("\n")[2], replace(room, column=0)):
                return broken
            node = node.with_changes(func=fitted(func, replace(room, behind=1)))
    if not node.args:
        return node
    if _has_breaks(node):
        return moved(node, node.args[-1], room)
    parts = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in node.args]
    if room.style.hangs and (hugging := _hugging(node, room)) is not None:
        return hugging
    inside, end = room.inside(), room.last()
    whole = ", ".join(source(arg) for arg in parts)
    exploded = _is_exploded(node, source(node), room.style)
    if not exploded and fits(whole, end if room.style.hangs else replace(inside, behind=0)):
        args: Sequence[cst.Arg] = [
            arg.with_changes(comma=_comma(" ") if i + 1 < len(parts) else cst.MaybeSentinel.DEFAULT)
            for i, arg in enumerate(parts)
        ]
        args = [*args[:-1], args[-1].with_changes(whitespace_after_arg=_end(room))]
    else:
        args = [argument(arg, inside) for arg in parts[:-1]]
        args.append(argument(parts[-1], end))
        ends = separators([source(arg) for arg in args], inside, end.behind)
        kept = len(args) > 1 or isinstance(node.args[0].comma, cst.Comma)  # of an only argument Black adds none
        trailing = kept and not room.style.fills
        args = [
            *(arg.with_changes(comma=cst.Comma(whitespace_after=end)) for arg, end in zip(args, ends, strict=False)),
            _last(args[-1], _end(room), comma=trailing),
        ]
    return node.with_changes(args=args, whitespace_before_args=_break(room, inside.line))


def _hugging(node: cst.Call, room: Room) -> cst.Call | None:
    """A call whose only argument is one too, and is broken in its place: `f(g(` stand on one line."""
    arg = node.args[0]
    if len(node.args) > 1 or arg.keyword is not None or arg.star or not isinstance(arg.value, cst.Call):
        return None
    opening = len(source(node.func)) + 1
    inner = _call(arg.value, replace(room, column=room.column + opening, behind=room.behind + 1))
    first, _, rest = source(inner).partition("\n")
    if not rest or room.column + opening + len(first) > room.width:
        return None
    return node.with_changes(args=[arg.with_changes(value=inner, comma=cst.MaybeSentinel.DEFAULT)])


def separators(texts: Sequence[str], room: Room, behind: int = 1) -> list[cst.BaseParenthesizableWhitespace]:
    """What stands between the elements of brackets: line breaks, or spaces where a file fills its lines.

    `behind` characters follow the last of them.
    """
    found: list[cst.BaseParenthesizableWhitespace] = []
    column = room.column + len(texts[0])
    for index, (before, text) in enumerate(itertools.pairwise(texts), 2):
        column += len(", ") + len(text)
        end = column + (behind if index == len(texts) else 1)
        if room.style.fills and "\n" not in before + text and end <= room.width:
            found.append(cst.SimpleWhitespace(" "))
        else:
            found.append(_break(room, room.line))
            column = room.column + len(text)
    return found


def _last(arg: cst.Arg, end: cst.BaseParenthesizableWhitespace, *, comma: bool) -> cst.Arg:
    """The last argument of a call, with what stands behind it."""
    if comma:
        return arg.with_changes(comma=cst.Comma(whitespace_after=end))
    return arg.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=end)


def argument(arg: cst.Arg, room: Room) -> cst.Arg:
    """An argument broken so that its lines stay within the width."""
    before = len(source(arg)) - len(source(arg.value))
    return arg.with_changes(value=fitted(arg.value, replace(room, column=room.column + before)))


def _tuple(node: cst.Tuple, room: Room) -> cst.Tuple:
    """A display in parentheses on several lines, its elements on one where they fit."""
    inside, last = room.inside(), room.last()
    parts = [e.with_changes(comma=cst.MaybeSentinel.DEFAULT) for e in node.elements]
    whole = ", ".join(source(e.value) for e in parts)
    if fits(whole, last) and len(parts) > 1 and not _is_exploded(node, source(node), room.style):
        ends: Sequence[cst.BaseParenthesizableWhitespace] = [cst.SimpleWhitespace(" ")] * (len(parts) - 1)
        values = [e.value for e in parts]
    else:
        values = [*(fitted(e.value, inside) for e in parts[:-1]), fitted(parts[-1].value, last)]
        ends = separators([source(value) for value in values], inside, last.behind)
    elements = [
        e.with_changes(value=value, comma=cst.Comma(whitespace_after=end))
        for e, value, end in zip(parts, values, [*ends, _end(room)], strict=True)
    ]
    if room.style.hangs and len(parts) > 1:
        elements[-1] = elements[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
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


def _end(room: Room) -> cst.BaseParenthesizableWhitespace:
    """What stands before the bracket that closes others over several lines."""
    return cst.SimpleWhitespace("") if room.style.hangs else _break(room, room.line)


def _break(room: Room, line: str) -> cst.ParenthesizedWhitespace:
    """A line break behind which the next line is indented like `line`."""
    return cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(line[len(room.block) :]), indent=True)


def moved(node: _Node, last: cst.CSTNode, room: Room) -> _Node:
    """Brackets that keep the lines of their author, which are indented as far as the line that they stand in now.

    `last` is the last element, behind which the closing bracket shows how far that was. Where it does not, or lines
    would get too long, all stays as it is.
    """
    comma = getattr(last, "comma", None)
    end = comma.whitespace_after if isinstance(comma, cst.Comma) else getattr(last, "whitespace_after_arg", None)
    if not isinstance(end, cst.ParenthesizedWhitespace) or not end.indent:
        return node
    before, now = len(end.last_line.value), len(room.line) - len(room.block)
    if before == now or _starts(node) == before:  # a bracket that stands below the elements shows nothing
        return node
    found = node.visit(Moved(now - before))
    assert isinstance(found, type(node))
    widest = max((len(line) for line in source(found).split("\n")[1:]), default=0)
    return found if widest + len(room.block) + room.behind <= room.width else node


def _starts(node: cst.BaseExpression) -> int:
    """How far the first element is indented that stands on a line of its own behind the opening bracket."""
    opening = getattr(node, "whitespace_before_args", None) or getattr(
        getattr(node, "lbracket", None) or getattr(node, "lbrace", None), "whitespace_after", None
    )
    is_break = isinstance(opening, cst.ParenthesizedWhitespace) and opening.indent
    return len(opening.last_line.value) if is_break and isinstance(opening, cst.ParenthesizedWhitespace) else -1


class Moved(cst.CSTTransformer):
    """Moves the lines within brackets to the right, or to the left; those alone whose breaks are `only` these."""

    def __init__(self, by: int, only: Collection[int] | None = None) -> None:
        super().__init__()
        self._by = by
        self._only = only

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        """Indents the line behind a break, and comments on lines of their own before it."""
        if not original_node.indent or (self._only is not None and id(original_node) not in self._only):
            return updated_node
        lines = [
            one.with_changes(whitespace=self._indented(one.whitespace)) if one.comment is not None else one
            for one in updated_node.empty_lines
        ]
        return updated_node.with_changes(last_line=self._indented(updated_node.last_line), empty_lines=lines)

    def _indented(self, space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
        return space.with_changes(value=" " * max(len(space.value) + self._by, 0))


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
