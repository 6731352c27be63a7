"""Symbols for axis names that are not in sight: `self.data_axis` in a spec and in a collective is one axis.

For lint alone. A symbol may stand for any name, for several, or for none: two that are alike are the same axis, and of
two that are not nothing is known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from jaxmigrate.program.values import UNKNOWN, Application, Member, Parameter, Value

_MARK = "?"  # before a symbol, as it stands before no name
_OF_AXES = re.compile(r"ax[ie]s|partition|_name$|_dim$|^[A-Z][A-Z0-9_]+$")


def symbol_of(node: ast.expr, value: Value) -> tuple[str, ...] | None:
    """The symbol for what an expression of an axis stands for, None where it may be no axis at all."""
    name = ""
    if isinstance(value, Parameter | Member):
        name = value.name
    elif value == UNKNOWN or isinstance(value, Application):
        name = getattr(node, "attr", getattr(node, "id", ""))
    return (_MARK + name,) if may_be_axis(name) else None


def may_be_axis(name: str) -> bool:
    """Whether a name may hold an axis."""
    return _OF_AXES.search(name) is not None


def symbol(name: str) -> str:
    """The symbol for the axis that a parameter or field of that name holds."""
    return _MARK + name


def spelled(node: ast.expr | None) -> str:
    """The symbol for an axis that a name or a field holds, whatever that is; empty for any other expression."""
    name = getattr(node, "attr", getattr(node, "id", "")) if isinstance(node, ast.Name | ast.Attribute) else ""
    return symbol(name) if name else ""


def has_symbols(names: Iterable[str]) -> bool:
    """Whether some of these are symbols."""
    return any(name.startswith(_MARK) for name in names)


def shown_name(name: str) -> str:
    """An axis as a message shows it: a symbol as the program says it."""
    return name[len(_MARK) :] if name.startswith(_MARK) else repr(name)
