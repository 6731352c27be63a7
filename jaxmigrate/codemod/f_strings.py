"""New code inside f-strings: before Python 3.12 it has neither their quotes nor line breaks."""

from __future__ import annotations

import libcst as cst


def fit_in(node: cst.FormattedString) -> cst.FormattedString:
    """An f-string whose expressions have other quotes than its own, and stand on one line."""
    changed = node.visit(_Inner(node.end))
    assert isinstance(changed, cst.FormattedString)
    return changed


class _Inner(cst.CSTTransformer):
    def __init__(self, end: str) -> None:
        super().__init__()
        self._quote = end[0]
        self._is_long = len(end) > 1

    def leave_SimpleString(self, _original: cst.SimpleString, updated_node: cst.SimpleString) -> cst.BaseExpression:
        other = "'" if self._quote == '"' else '"'
        text = updated_node.raw_value
        if self._is_long or updated_node.quote != self._quote or other in text or "\\" in text:
            return updated_node
        return updated_node.with_changes(value=f"{updated_node.prefix}{other}{text}{other}")

    def leave_ParenthesizedWhitespace(
        self, _original: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.BaseParenthesizableWhitespace:
        return updated_node if self._is_long else cst.SimpleWhitespace("")

    def leave_Comma(self, original_node: cst.Comma, updated_node: cst.Comma) -> cst.Comma:
        broken = isinstance(original_node.whitespace_after, cst.ParenthesizedWhitespace)
        if self._is_long or not broken:
            return updated_node
        return updated_node.with_changes(whitespace_after=cst.SimpleWhitespace(" "))
