"""Commas of lists whose last element goes or comes: comments stay with their element, brackets where they stood."""

from __future__ import annotations

import libcst as cst

from jaxmigrate.codemod.layout import comments_in

Comma = cst.Comma | cst.MaybeSentinel


def ended(comma: Comma, last: Comma) -> Comma:
    """The comma of an element that has become the last, where `last` was that of the last one before."""
    if not isinstance(comma, cst.Comma) or not any(comments_in(comma)):
        return last
    if not isinstance(last, cst.Comma):
        return comma
    inner, outer = comma.whitespace_after, last.whitespace_after
    if not isinstance(inner, cst.ParenthesizedWhitespace) or not isinstance(outer, cst.ParenthesizedWhitespace):
        return comma
    return comma.with_changes(whitespace_after=inner.with_changes(indent=outer.indent, last_line=outer.last_line))


def between(comma: Comma) -> cst.Comma | None:
    """A comma like another one, with the line break behind it, but not the comments there."""
    if not isinstance(comma, cst.Comma):
        return None
    after = comma.whitespace_after
    if isinstance(after, cst.ParenthesizedWhitespace):
        after = after.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=())
    return cst.Comma(whitespace_after=after)
