"""Tests that the program settles before anything runs: `if axis_name is not None`, `if self.distributed`.

A step that reduces only where it is told that it is mapped would otherwise be held to leave it, too.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.flow import conditions
from jaxmigrate.flow.axis_symbols import may_be_axis, spelled, symbol
from jaxmigrate.flow.truth import truth
from jaxmigrate.flow.variance import suspicion
from jaxmigrate.flow.variance.frames import Frame
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.values import Constant, Member, Parameter


def outcome(run: Run, test: ast.expr, frame: Frame) -> bool | None:
    """How a test certainly turns out; None where it may go both ways."""
    for held, way in run.mode.held:
        if held is test:
            return way
    if run.mode.unmapped:

        def is_none(left: ast.expr, right: ast.expr) -> bool | None:
            return _is_none(run, left, right, frame)

        return truth(test, lambda node: _holds(run, node, frame), is_none)
    if run.mode.lenient:
        return None

    def known(node: ast.expr) -> bool | None:
        found = {bool(one.value) for one in _constants(run, node, frame) or ()}
        return found.pop() if len(found) == 1 else None

    return truth(test, known, lambda left, right: _agree(_constants(run, left, frame), _constants(run, right, frame)))


def _is_bound(run: Run, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is the axis that what is read is taken to be mapped over."""
    if spelled(node) in run.axes and not _is_given_none(run, node, frame):
        return True
    return isinstance(node, ast.Name | ast.Attribute) and _axis(run.evaluate(node, frame).static) in run.axes


def _is_given_none(run: Run, node: ast.expr, frame: Frame) -> bool:
    """Whether a call has given a parameter None, or left it so, whatever a caller's own of that name holds."""
    if not isinstance(node, ast.Name) or frame.holder(node.id) is None or not may_be_axis(node.id):
        return False
    return run.evaluate(node, frame).static == Constant(None)


def _holds(run: Run, node: ast.expr, frame: Frame) -> bool | None:
    """Whether something holds where an axis is bound: the axis itself, or a function that asks whether it is."""
    if not isinstance(node, ast.Call):
        return True if _is_bound(run, node, frame) else False if _is_given_none(run, node, frame) else None
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    asks = suspicion.is_about_maps(node.func) and any(_is_bound(run, one, frame) for one in given)
    return True if asks else None


def _axis(value: object) -> str:
    """The name of an axis, or the symbol for it, that a value stands for; empty for none."""
    if isinstance(value, Parameter | Member):
        return symbol(value.name)
    content = value.value if isinstance(value, Constant) else ""
    content = content[0] if isinstance(content, tuple) and len(content) == 1 else content
    return content if isinstance(content, str) else ""


def _is_none(run: Run, left: ast.expr, right: ast.expr, frame: Frame) -> bool | None:
    """Whether an axis is None, which one that is bound is not."""
    none = isinstance(right, ast.Constant) and right.value is None
    if none and _is_given_none(run, left, frame):
        return True
    return False if none and _is_bound(run, left, frame) else None


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
