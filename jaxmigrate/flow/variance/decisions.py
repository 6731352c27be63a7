"""Tests that the program settles before anything runs: `if axis_name is not None`, `if self.distributed`.

A step that reduces only where it is told that it is mapped would otherwise be held to leave it, too.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow import conditions
from jaxmigrate.flow.truth import truth
from jaxmigrate.flow.variance.frames import Frame
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.values import Constant


def outcome(run: Run, test: ast.expr, frame: Frame) -> bool | None:
    """How a test certainly turns out; None where it may go both ways."""
    if run.mode.lenient:
        return None

    def known(node: ast.expr) -> bool | None:
        found = {bool(one.value) for one in _constants(run, node, frame) or ()}
        return found.pop() if len(found) == 1 else None

    return truth(test, known, lambda left, right: _agree(_constants(run, left, frame), _constants(run, right, frame)))


def _agree(left: Sequence[Constant] | None, right: Sequence[Constant] | None) -> bool | None:
    """Whether all of some constants are all of others: None is itself alone, and so is a text."""
    if not left or not right or len({*right}) > 1:
        return None
    other = right[0].value
    if not (other is None or isinstance(other, str | bool)):
        return None
    if any(type(one.value) is not type(other) and one.value == other for one in left):
        return None  # 1 and True
    found = {one.value == other for one in left}
    return found.pop() if len(found) == 1 else None


def _constants(run: Run, node: ast.expr, frame: Frame) -> Sequence[Constant] | None:
    match node:
        case ast.Constant(value=value):
            return [Constant(value)]
        case ast.Name(id=name) if frame.holder(name) is not None:
            static = run.evaluate(node, frame).static
            return [static] if isinstance(static, Constant) else None
        case ast.Name() | ast.Attribute():
            return conditions.constants(run.resolver, node, frame.module) if _is_of_host(node, frame) else None
    return None


def _is_of_host(node: ast.expr, frame: Frame) -> bool:
    """Whether what an attribute is of, or a name, is none of the variables of what is read."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and frame.holder(node.id) is None
