"""What the expressions of the host's code hold, but for calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from jaxmigrate.flow.host.frames import Frame
from jaxmigrate.flow.host.held import ANY, NOTHING, UNKNOWN, Held, Key, join, joined
from jaxmigrate.flow.host.run import Run
from jaxmigrate.flow.host.statements import assign

OF_TYPES = frozenset({"shape", "dtype", "ndim", "size", "sharding", "devices", "nbytes", "itemsize"})
ALIKE = frozenset({"T", "at", "real", "imag", "addressable_shards", "value"})


def constant(_: Run, node: ast.Constant, frame: Frame) -> Held:
    """A number, a flag or a text, of which no device has a slice."""
    if node.value is None:
        return NOTHING
    return Held(False, node, frame.module) if isinstance(node.value, int | float) else UNKNOWN


def name(run: Run, node: ast.Name, frame: Frame) -> Held:
    """What a name holds; what is replicated further down has no axis of devices yet."""
    held = frame.read(node.id)
    spread = any(one.axis for one in (held.parts or {}).values())
    if held.axis is None and not spread and not held.nothing and node in run.spread_later(frame.module):
        return held._replace(axis=False, node=node, module=frame.module, parts=None)
    return held


def attribute(run: Run, node: ast.Attribute, frame: Frame) -> Held:
    """A field of an object, of which it may be known more than of the object."""
    owner = run.evaluate(node.value, frame)
    if node.attr in OF_TYPES:
        return UNKNOWN
    return owner if node.attr in ALIKE and node.attr not in (owner.parts or {}) else owner.part(node.attr)


def subscript(run: Run, node: ast.Subscript, frame: Frame) -> Held:
    """An entry of a dictionary, an element of a tuple, or one device's slice of an array."""
    owner = run.evaluate(node.value, frame)
    index = node.slice
    key = _key(index)
    if isinstance(key, str):
        return owner.part(key)
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if key is not None and owner.parts is not None and (key in owner.parts or ANY in owner.parts or key < 0):
        return owner.part(key)
    if owner.parts and not owner.axis:
        return owner.element() if not isinstance(first, ast.Slice) else owner
    number = _key(first)
    if number == 0:
        return run.take(node, owner, frame)
    if isinstance(number, int):
        return Held(False, node, frame.module) if owner.axis and owner.of_copies else UNKNOWN
    if isinstance(first, ast.Slice) or not isinstance(index, ast.Tuple):
        run.evaluate(index, frame)
    is_rest = isinstance(first, ast.Slice) and first.lower is None and first.upper is None
    return owner if is_rest and owner.axis else UNKNOWN


def _key(index: ast.expr) -> int | str | None:
    match index:
        case ast.Constant(value=(int() | str()) as key) if not isinstance(key, bool):
            return key
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def tuple_or_list(run: Run, node: ast.Tuple | ast.List, frame: Frame) -> Held:
    """The elements that are written out."""
    parts: dict[Key, Held] = {n: run.evaluate(one, frame) for n, one in enumerate(node.elts)}
    if any(isinstance(one, ast.Starred) for one in node.elts):
        return Held(parts={ANY: joined(parts.values())})
    return Held(parts=parts)


def dictionary(run: Run, node: ast.Dict, frame: Frame) -> Held:
    """The entries that are written out, and those of other dictionaries."""
    held = Held(parts={})
    for key, value in zip(node.keys, node.values, strict=True):
        one = run.evaluate(value, frame)
        if key is None:
            held = Held(parts={**(held.parts or {}), **(one.parts or {ANY: one.element()})})
        else:
            held = held.with_part(place if isinstance(place := _key(key), str | int) else ANY, one)
    return held


def operation(run: Run, node: ast.BinOp, frame: Frame) -> Held:
    """Arithmetic: with one value that has an axis of devices, the result has one."""
    left, right = run.evaluate(node.left, frame), run.evaluate(node.right, frame)
    if isinstance(node.op, ast.MatMult | ast.Mod):
        return UNKNOWN
    if left.parts is not None or right.parts is not None:
        return Held(parts={ANY: join(left.element(), right.element())}) if isinstance(node.op, ast.Add) else UNKNOWN
    sources = left.sources + right.sources
    for one, other in ((left, right), (right, left)):
        if one.axis and other.axis is not None:
            return one._replace(sources=sources)
        if one.axis:
            return Held(sources=sources) if other.mixed else one._replace(sources=sources)
    if left.axis is False and right.axis is False:
        return left
    return Held(sources=sources)


def choice(run: Run, node: ast.IfExp, frame: Frame) -> Held:
    """One of two values."""
    run.evaluate(node.test, frame)
    return join(run.evaluate(node.body, frame), run.evaluate(node.orelse, frame))


def either(run: Run, node: ast.BoolOp, frame: Frame) -> Held:
    """One of several values."""
    each = [run.evaluate(one, frame) for one in node.values]
    return joined(each) if isinstance(node.op, ast.Or) else UNKNOWN


def inner(run: Run, node: ast.Compare | ast.JoinedStr | ast.FormattedValue | ast.UnaryOp, frame: Frame) -> Held:
    """What is computed of other expressions, and has no meaning here."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.expr):
            run.evaluate(one, frame)
    return UNKNOWN


def starred(run: Run, node: ast.Starred, frame: Frame) -> Held:
    """Any element of what is unpacked."""
    return run.evaluate(node.value, frame).element()


def comprehension(run: Run, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, frame: Frame) -> Held:
    """A list of what one element gives, once; a dictionary of one value."""
    own = Frame(frame.module, frame.node, outer=frame, depth=frame.depth)
    for each in node.generators:
        assign(run, each.target, run.evaluate(each.iter, own).element(), own)
        for test in each.ifs:
            run.evaluate(test, own)
    if isinstance(node, ast.DictComp):
        run.evaluate(node.key, own)
        return Held(parts={ANY: run.evaluate(node.value, own)})
    return Held(parts={ANY: run.evaluate(node.elt, own)})


def walrus(run: Run, node: ast.NamedExpr, frame: Frame) -> Held:
    """What is bound, too."""
    held = run.evaluate(node.value, frame)
    frame.store(node.target.id, held)
    return held


EXPRESSIONS: dict[type[ast.expr], Callable[[Run, Any, Frame], Held]] = {
    ast.Constant: constant,
    ast.Name: name,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.Tuple: tuple_or_list,
    ast.List: tuple_or_list,
    ast.Dict: dictionary,
    ast.BinOp: operation,
    ast.IfExp: choice,
    ast.BoolOp: either,
    ast.Compare: inner,
    ast.JoinedStr: inner,
    ast.FormattedValue: inner,
    ast.UnaryOp: inner,
    ast.Starred: starred,
    ast.ListComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.SetComp: comprehension,
    ast.DictComp: comprehension,
    ast.NamedExpr: walrus,
}
