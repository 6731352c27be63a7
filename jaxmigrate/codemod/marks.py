"""Marks of a verification in a tree: calls that note the value of their last argument under a site's id."""

from __future__ import annotations

from typing import TypeVar

import libcst as cst

TRANSFORM_MARK, MAPPED_MARK = "__jaxmigrate_transform__", "__jaxmigrate_mapped__"
HOST_MARK = "__jaxmigrate_host__"
MARKS = "__jaxmigrate_"  # what all begin with
Node = TypeVar("Node", bound=cst.CSTNode)


def marked(node: cst.BaseExpression, site: str, *, mapped: bool, host: bool = False) -> cst.Call:
    """An expression within a mark."""
    name = cst.Name(HOST_MARK if host else MAPPED_MARK if mapped else TRANSFORM_MARK)
    args = [cst.Arg(cst.SimpleString(repr(site))), cst.Arg(node)]
    if not host:
        return cst.Call(func=name, args=args)
    return cst.Call(func=name, args=args, lpar=[cst.LeftParen()], rpar=[cst.RightParen()])  # as in `return(x).y`


def is_mark(node: cst.CSTNode) -> bool:
    """Whether a node is a mark."""
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in (TRANSFORM_MARK, MAPPED_MARK, HOST_MARK)
    )


class _Remover(cst.CSTTransformer):
    def leave_Call(self, _original: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return updated_node.args[-1].value if is_mark(updated_node) else updated_node


def without_marks(node: Node) -> cst.CSTNode:
    """A node as it is written where nothing is verified."""
    found = node.visit(_Remover())
    assert isinstance(found, cst.CSTNode)
    return found
