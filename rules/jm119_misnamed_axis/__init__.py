"""JM119: the index, or the size, of another axis than its name says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import AXIS_POSITIONS, axis_argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import External

CODE = "JM119"
ASKED = ("axis_index", "axis_size", "psum")
PLAIN = frozenset(
    {"axis", "axes", "name", "names", "index", "idx", "indx", "id", "rank", "size", "num", "n", "i", "dim"}
)
WORDS = re.compile(r"[a-z]+|\d+")


def check(facts: Facts) -> Iterator[Finding]:
    """`y_index = axis_index(x_axis)`, where the same function, or its module, knows an axis of that name."""
    by_module: dict[Module, list[tuple[ast.Call, ast.expr]]] = {}
    for module, call in facts.calls(*ASKED):
        axis = _axis(call, module, facts)
        if axis is not None:
            by_module.setdefault(module, []).append((call, axis))
    for module, asked in by_module.items():
        known = {ast.unparse(axis): _words(axis) for _, axis in asked}
        for call, axis in asked:
            name = _name(call, module)
            own, words = known[ast.unparse(axis)], _of_text(name or "")
            others = [text for text, of in known.items() if of and of <= words and not of & own]
            if name is not None and own and not own & words and len(others) == 1:
                message = (
                    f"{name} is that of the axis {ast.unparse(axis)}, and by its name of {others[0]}; write "
                    f"{others[0]} here, or another name"
                )
                yield from facts.finding(module, call, CODE, message)


def _axis(call: ast.Call, module: Module, facts: Facts) -> ast.expr | None:
    """The one axis of which a call gives the index or the size."""
    callee = facts.resolver.value(call.func, module)
    if not isinstance(callee, External) or callee.name not in AXIS_POSITIONS:
        return None
    if callee.name == "jax.lax.psum" and not (call.args and isinstance(call.args[0], ast.Constant)):
        return None
    axis = axis_argument(callee.name, call_arguments(call, module))
    return axis if isinstance(axis, ast.Name | ast.Attribute | ast.Constant) else None


def _words(axis: ast.expr) -> frozenset[str]:
    """The words of an axis's name that tell it from others."""
    match axis:
        case ast.Constant(value=str(text)):
            return _of_text(text)
        case ast.Name(id=text) | ast.Attribute(attr=text):
            return _of_text(text)
    return frozenset()


def _of_text(text: str) -> frozenset[str]:
    return frozenset(WORDS.findall(text.lower())) - PLAIN


def _name(call: ast.Call, module: Module) -> str | None:
    """The name that holds what a call gives, as it is, or on one of two ways."""
    node: ast.AST = call
    parent = module.table.parents.get(node)
    while isinstance(parent, ast.IfExp):
        node, parent = parent, module.table.parents.get(parent)
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return None
