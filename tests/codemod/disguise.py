"""The same program written otherwise: parentheses, comments and line breaks wherever Python allows them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import libcst as cst


def disguised(text: str) -> str:
    """A program that means the same, with each argument in parentheses, on a line of its own, beside comments."""
    tree = cst.parse_module(text).visit(_Disguise())
    return tree.code


class _Disguise(cst.CSTTransformer):
    def __init__(self) -> None:
        super().__init__()
        self._numbers: Iterator[int] = itertools.count(1)
        self._in_string = 0

    def _break(self, said: str = "note") -> cst.ParenthesizedWhitespace:
        comment = cst.Comment(f"# {said} {next(self._numbers)}")
        first = cst.TrailingWhitespace(cst.SimpleWhitespace("  "), comment)
        return cst.ParenthesizedWhitespace(first, indent=True, last_line=cst.SimpleWhitespace("    "))

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        self._in_string += 1

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.FormattedString:
        self._in_string -= 1
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if self._in_string or not updated_node.args:
            return updated_node
        args = [self._argument(arg) for arg in updated_node.args]
        func = updated_node.func
        if not func.lpar and isinstance(func, cst.Name | cst.Attribute):
            func = func.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return updated_node.with_changes(func=func, args=args, whitespace_before_args=self._break())

    def _argument(self, arg: cst.Arg) -> cst.Arg:
        value = arg.value.with_changes(
            lpar=[cst.LeftParen(self._break()), *arg.value.lpar], rpar=[*arg.value.rpar, cst.RightParen(self._break())]
        )
        return arg.with_changes(value=value, comma=cst.Comma(self._break(), self._break()))

    def leave_Tuple(self, original_node: cst.Tuple, updated_node: cst.Tuple) -> cst.Tuple:
        if self._in_string or not updated_node.lpar:
            return updated_node
        commas = [cst.Comma(whitespace_after=self._break()) for _ in updated_node.elements]
        elements = [e.with_changes(comma=c) for e, c in zip(updated_node.elements, commas, strict=True)]
        return updated_node.with_changes(elements=elements)

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        if isinstance(updated_node.names, cst.ImportStar) or updated_node.lpar:
            return updated_node
        commas = [cst.Comma(whitespace_after=self._break("import")) for _ in updated_node.names]
        names = [alias.with_changes(comma=comma) for alias, comma in zip(updated_node.names, commas, strict=True)]
        return updated_node.with_changes(names=names, lpar=cst.LeftParen(self._break("import")), rpar=cst.RightParen())
