"""The heads of functions: broken into lines that fit, and under another name."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from jaxmigrate.codemod.layout import comments_in, fits, separators, source
from jaxmigrate.codemod.rewriting import Rewriting


def renamed(command: Rewriting, function: cst.FunctionDef, name: str, indent: str) -> cst.FunctionDef:
    """A function under another name, whose parameters stand below each other as before, on lines that fit.

    Lines that were too long already stay as they are.
    """
    column = len(f"def {function.name.value}(")
    params = function.params.visit(_Moved(column, len(name) - len(function.name.value)))
    assert isinstance(params, cst.Parameters)
    found = function.with_changes(name=cst.Name(name), params=params)
    width, (first, *others) = command.style.width, _widths(found, indent)
    was = _widths(function, indent)[1:]
    if first <= width and all(new <= width or old > width for old, new in zip(was, others, strict=True)):
        return found
    if any(comments_in(function.params)):
        return function.with_changes(name=cst.Name(name))
    flat = function.params.visit(_Flat())
    assert isinstance(flat, cst.Parameters)
    plain = cst.SimpleWhitespace("")
    return fitted_head(command, found.with_changes(params=flat, whitespace_before_params=plain), indent)


class _Moved(cst.CSTTransformer):
    """Moves what stands below the first parameter of a function."""

    def __init__(self, column: int, by: int) -> None:
        super().__init__()
        self.column = column
        self.by = by

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        del original_node
        before = updated_node.last_line.value
        if len(before) != self.column:
            return updated_node
        return updated_node.with_changes(last_line=cst.SimpleWhitespace(" " * (self.column + self.by)))


class _Flat(cst.CSTTransformer):
    """Puts what stands in brackets on one line."""

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.BaseParenthesizableWhitespace:
        del original_node, updated_node
        return cst.SimpleWhitespace(" ")


def _head(function: cst.FunctionDef) -> str:
    body = cst.SimpleStatementSuite([cst.Pass()])
    return source(function.with_changes(body=body, decorators=(), leading_lines=()))


def _widths(function: cst.FunctionDef, indent: str) -> list[int]:
    """How long the lines of a function's head are."""
    lines = _head(function).rstrip().removesuffix(" pass").splitlines()
    return [len(indent) * (not i) + len(line) for i, line in enumerate(lines)]


def fitted_head(command: Rewriting, function: cst.FunctionDef, indent: str) -> cst.FunctionDef:
    """A function whose parameters stand on a line of their own where its head is too long."""
    if max(_widths(function, indent)) <= command.style.width:
        return function
    params = function.params.params
    if not params or function.params.star_kwarg or function.params.kwonly_params:
        return function
    inside = command.new_room(indent).inside()
    texts = [source(p.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for p in params]
    last = cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(""), indent=True)
    alike = fits(", ".join(texts), replace(inside, behind=0))  # on one line, behind which Black puts no comma
    ends = [*([cst.SimpleWhitespace(" ")] * (len(texts) - 1) if alike else separators(texts, inside)), last]
    params = [p.with_changes(comma=cst.Comma(whitespace_after=end)) for p, end in zip(params, ends, strict=True)]
    if alike:
        params[-1] = params[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_param=last)
    first = cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(inside.line[len(indent) :]), indent=True)
    return function.with_changes(params=function.params.with_changes(params=params), whitespace_before_params=first)
