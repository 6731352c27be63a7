"""Parentheses around new code where what stands around it binds more tightly."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

ATOMS = (
    *(cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber, cst.BaseString, cst.Ellipsis),
    *(cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp),
)
TIGHT: dict[type[cst.CSTNode], tuple[str, ...]] = {
    cst.Attribute: ("value",),
    cst.Subscript: ("value",),
    cst.Call: ("func",),
    cst.Await: ("expression",),
    cst.UnaryOperation: ("expression",),
    cst.BinaryOperation: ("left", "right"),
    cst.BooleanOperation: ("left", "right"),
    cst.Comparison: ("left",),
    cst.ComparisonTarget: ("comparator",),
    cst.StarredElement: ("value",),
    cst.StarredDictElement: ("value",),
    cst.IfExp: ("body", "test"),
    cst.CompFor: ("iter",),
    cst.CompIf: ("test",),
    cst.FormattedStringExpression: ("expression",),
}


def in_brackets(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression within parentheses."""
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def bound(node: cst.CSTNode, is_new: Callable[[cst.CSTNode], bool]) -> cst.CSTNode:
    """A node of which those parts that are new stand in parentheses where they need some."""
    fields = TIGHT.get(type(node), ())
    if isinstance(node, cst.Arg) and node.star:
        fields = ("value",)
    for field in fields:
        part = getattr(node, field)
        plain = isinstance(node, cst.FormattedStringExpression) and isinstance(part, cst.BinaryOperation)
        if is_new(part) and not isinstance(part, ATOMS) and not part.lpar and not plain:
            node = node.with_changes(**{field: in_brackets(part)})
    return node
