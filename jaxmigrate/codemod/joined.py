"""Puts on one line what its author broke within brackets, so that it can be broken anew where it stands now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

from jaxmigrate.codemod.layout import OwnLines, comments_in, source

NOTHING, SPACE = cst.SimpleWhitespace(""), cst.SimpleWhitespace(" ")
Parted = TypeVar("Parted", cst.Arg, cst.BaseElement, cst.BaseDictElement)


def joined(node: cst.BaseExpression, *, commas: bool) -> cst.BaseExpression:
    """An expression on one line; as it is where it has comments, or lines that end elsewhere than between elements.

    With `commas`, those behind last elements stay, which tell a formatter to give each element a line; without, only
    where each had one.
    """
    if "\n" not in source(node) or any(comments_in(node)):
        return node
    found = node.visit(_Joiner(commas=commas))
    assert isinstance(found, cst.BaseExpression)
    return node if _has_breaks(found) else found


def _has_breaks(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.ParenthesizedWhitespace) or any(_has_breaks(child) for child in node.children)


def _elements(parts: Sequence[Parted], *, trailing: bool) -> list[Parted]:
    """The elements of brackets with a space between them; with `trailing`, the last comma is kept."""
    found, own = [], len(parts) > 1 and all(map(_ends_line, parts))
    for index, part in enumerate(parts):
        comma, last = part.comma, index + 1 == len(parts)
        if isinstance(comma, cst.Comma):
            kept = comma.with_changes(whitespace_before=NOTHING, whitespace_after=NOTHING if last else SPACE)
            if last and own:
                kept = OwnLines(kept.whitespace_before, kept.whitespace_after)
            part = part.with_changes(comma=kept if trailing or own or not last else cst.MaybeSentinel.DEFAULT)
        if isinstance(part, cst.Arg):
            part = part.with_changes(whitespace_after_arg=NOTHING)
        found.append(part)
    return found


def _ends_line(part: Parted) -> bool:
    """Whether a line ends behind the comma of an element."""
    return isinstance(part.comma, cst.Comma) and isinstance(part.comma.whitespace_after, cst.ParenthesizedWhitespace)


class _Joiner(cst.CSTTransformer):
    def __init__(self, *, commas: bool) -> None:
        super().__init__()
        self._commas = commas

    def leave_Call(self, _original: cst.Call, updated_node: cst.Call) -> cst.Call:
        return updated_node.with_changes(
            args=_elements(updated_node.args, trailing=self._commas), whitespace_before_args=NOTHING
        )

    def leave_Tuple(self, _original: cst.Tuple, updated_node: cst.Tuple) -> cst.Tuple:
        elements = _elements(updated_node.elements, trailing=self._commas or len(updated_node.elements) == 1)
        return updated_node.with_changes(elements=elements)

    def leave_List(self, _original: cst.List, updated_node: cst.List) -> cst.List:
        return updated_node.with_changes(elements=_elements(updated_node.elements, trailing=self._commas))

    def leave_Set(self, _original: cst.Set, updated_node: cst.Set) -> cst.Set:
        return updated_node.with_changes(elements=_elements(updated_node.elements, trailing=self._commas))

    def leave_Dict(self, _original: cst.Dict, updated_node: cst.Dict) -> cst.Dict:
        return updated_node.with_changes(elements=_elements(updated_node.elements, trailing=self._commas))

    def leave_LeftParen(self, _original: cst.LeftParen, updated_node: cst.LeftParen) -> cst.LeftParen:
        return _opening(updated_node)

    def leave_LeftSquareBracket(
        self, _original: cst.LeftSquareBracket, updated_node: cst.LeftSquareBracket
    ) -> cst.LeftSquareBracket:
        return _opening(updated_node)

    def leave_LeftCurlyBrace(
        self, _original: cst.LeftCurlyBrace, updated_node: cst.LeftCurlyBrace
    ) -> cst.LeftCurlyBrace:
        return _opening(updated_node)

    def leave_RightParen(self, _original: cst.RightParen, updated_node: cst.RightParen) -> cst.RightParen:
        return _closing(updated_node)

    def leave_RightSquareBracket(
        self, _original: cst.RightSquareBracket, updated_node: cst.RightSquareBracket
    ) -> cst.RightSquareBracket:
        return _closing(updated_node)

    def leave_RightCurlyBrace(
        self, _original: cst.RightCurlyBrace, updated_node: cst.RightCurlyBrace
    ) -> cst.RightCurlyBrace:
        return _closing(updated_node)


Opening = TypeVar("Opening", cst.LeftParen, cst.LeftSquareBracket, cst.LeftCurlyBrace)
Closing = TypeVar("Closing", cst.RightParen, cst.RightSquareBracket, cst.RightCurlyBrace)


def _opening(bracket: Opening) -> Opening:
    return bracket.with_changes(whitespace_after=NOTHING)


def _closing(bracket: Closing) -> Closing:
    return bracket.with_changes(whitespace_before=NOTHING)
