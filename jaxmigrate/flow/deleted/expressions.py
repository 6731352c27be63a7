"""The objects that the expressions of the host's code give, but for calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from jaxmigrate.flow.deleted.heap import Key, Thing
from jaxmigrate.flow.deleted.run import Frame, Run
from jaxmigrate.flow.deleted.statements import ROUNDS, assign
from jaxmigrate.flow.later_reads import METADATA


def _name(run: Run, node: ast.Name, frame: Frame) -> Thing:
    around: Frame | None = frame
    while around is not None:
        if (around.number, node.id) in run.heap.names:
            return run.heap.names[around.number, node.id]
        around = around.outer
    thing = run.fresh()
    run.heap.bind(frame.number, node.id, thing)
    return thing


def _attribute(run: Run, node: ast.Attribute, frame: Frame) -> Thing:
    if node.attr in METADATA:
        return run.fresh()
    thing = run.part(run.look(node.value, frame), node.attr)
    if not run.is_array(node.attr):
        run.unclear.add(thing)
    return thing


def _subscript(run: Run, node: ast.Subscript, frame: Frame) -> Thing:
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(key, str | int):
        return run.part(run.look(node.value, frame), key)
    run.use(node.value, frame)
    run.look(node.slice, frame)
    return run.fresh()


def _elements(run: Run, node: ast.Tuple | ast.List, frame: Frame) -> Thing:
    return run.holder({number: run.look(one, frame) for number, one in enumerate(node.elts)})


def _entries(run: Run, node: ast.Dict, frame: Frame) -> Thing:
    parts: dict[Key, Thing] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        thing = run.look(value, frame)
        if isinstance(key, ast.Constant) and isinstance(key.value, str | int):
            parts[key.value] = thing
    return run.holder(parts)


def _walrus(run: Run, node: ast.NamedExpr, frame: Frame) -> Thing:
    thing = run.look(node.value, frame)
    assign(run, node.target, thing, frame)
    return thing


def _choice(run: Run, node: ast.IfExp, frame: Frame) -> Thing:
    run.use(node.test, frame)
    one, other = run.look(node.body, frame), run.look(node.orelse, frame)
    return one if one == other else run.fresh()


def _inner(run: Run, node: ast.Starred | ast.Await, frame: Frame) -> Thing:
    return run.look(node.value, frame)


def _comprehension(run: Run, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, frame: Frame) -> Thing:
    own = Frame(run.fresh(), frame.module, frame.node, frame, frame.depth)
    elements = list((run.heap.parts.get(run.look(node.generators[0].iter, frame)) or {}).values())
    for number in range(ROUNDS):
        for each in node.generators:
            known = elements[number] if number < len(elements) else run.fresh(hosted=True)
            assign(run, each.target, known, own)
        for inner in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            run.look(inner, own)
    return run.fresh()


def _compares(run: Run, node: ast.Compare, frame: Frame) -> Thing:
    if not any(isinstance(one, ast.Constant) and one.value is None for one in node.comparators):
        for one in (node.left, *node.comparators):
            run.use(one, frame)
    return run.fresh()


def _computes(run: Run, node: ast.expr, frame: Frame) -> Thing:
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.expr):
            run.use(one, frame)
    return run.fresh()


EXPRESSIONS: dict[type[ast.expr], Callable[[Run, Any, Frame], Thing]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _elements,
    ast.List: _elements,
    ast.Dict: _entries,
    ast.NamedExpr: _walrus,
    ast.IfExp: _choice,
    ast.Starred: _inner,
    ast.Await: _inner,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Compare: _compares,
    ast.BinOp: _computes,
    ast.UnaryOp: _computes,
    ast.BoolOp: _computes,
    ast.JoinedStr: _computes,
    ast.FormattedValue: _computes,
}
