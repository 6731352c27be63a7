"""Runs the statements of the host's code on the objects that its names hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxmigrate.flow.deleted.heap import Changes, Key, Thing
from jaxmigrate.flow.deleted.run import Frame, Run, Sometimes

ROUNDS = 2  # of a loop: the second one sees what the first one donated
OFTEN = re.compile(r"%|every|freq|interval|<|>|best|improv", re.IGNORECASE)  # a test that holds in more than one round


def _assigns(run: Run, node: ast.Assign, frame: Frame) -> None:
    thing = run.look(node.value, frame)
    for target in node.targets:
        assign(run, target, thing, frame)


def _annotates(run: Run, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(run, node.target, run.look(node.value, frame), frame)


def _adds(run: Run, node: ast.AugAssign, frame: Frame) -> None:
    run.use(node.target, frame)
    run.use(node.value, frame)
    assign(run, node.target, run.fresh(), frame)


def _evaluates(run: Run, node: ast.Expr, frame: Frame) -> None:
    run.look(node.value, frame)


def _returns(run: Run, node: ast.Return, frame: Frame) -> None:
    frame.returned.append(run.look(node.value, frame) if node.value is not None else run.fresh())
    frame.left = "return"


def _raises(_: Run, _node: ast.Raise, frame: Frame) -> None:
    frame.left = "return"


def _breaks(_: Run, _node: ast.Break, frame: Frame) -> None:
    frame.left = "break"


def _continues(_: Run, _node: ast.Continue, frame: Frame) -> None:
    frame.left = "continue"


def _branches(run: Run, node: ast.If, frame: Frame) -> None:
    run.use(node.test, frame)
    test = ast.unparse(node.test)
    if "__name__" in test:
        run.block(node.body, frame)
        return
    begun, behind, left, changes = run.heap.mark(), list[Changes](), "", Changes()
    run.conditions += 1
    for block in (node.body, node.orelse):
        run.block(block, frame)
        changes = run.heap.undo(begun)
        if frame.left:
            left, frame.left = frame.left, ""
        else:
            behind.append(changes)
    run.conditions -= 1
    if not behind:
        frame.left = left
    if len(behind) < len(("body", "orelse")):
        run.heap.redo(behind[0] if behind else changes)
    else:
        turn = None if OFTEN.search(test) else run.turn
        for thing in run.heap.join(behind[0], behind[1], run.fresh):
            run.sometimes.setdefault(thing, Sometimes(run.conditions, turn))


def _for(run: Run, node: ast.For, frame: Frame) -> None:
    things = run.look(node.iter, frame)
    _rounds(run, node.body, frame, node.target, run.heap.parts.get(things))
    run.block(node.orelse, frame)


def _while(run: Run, node: ast.While, frame: Frame) -> None:
    run.use(node.test, frame)
    _rounds(run, node.body, frame)
    run.block(node.orelse, frame)


def _rounds(
    run: Run,
    body: Sequence[ast.stmt],
    frame: Frame,
    target: ast.expr | None = None,
    parts: Mapping[Key, Thing] | None = None,
) -> None:
    """Runs a loop's body, whose second round begins with what the first one left."""
    elements = list((parts or {}).values())
    for number in range(ROUNDS):
        run.turn += number
        if target is not None:
            known = elements[number] if number < len(elements) else run.fresh(hosted=True)
            assign(run, target, known, frame)
        run.block(body, frame)
        left, frame.left = frame.left, ""
        if left == "return":
            frame.left = left
        if left in ("return", "break"):
            return


def _enters(run: Run, node: ast.With, frame: Frame) -> None:
    for item in node.items:
        run.look(item.context_expr, frame)
        if item.optional_vars is not None:
            assign(run, item.optional_vars, run.fresh(), frame)
    run.block(node.body, frame)


def _tries(run: Run, node: ast.Try, frame: Frame) -> None:
    run.block([*node.body, *node.orelse], frame)
    run.block(node.finalbody, frame)


def _forgets(run: Run, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        assign(run, target, run.fresh(), frame)


def _defines(run: Run, node: ast.FunctionDef | ast.ClassDef, frame: Frame) -> None:
    run.heap.unbind(frame.number, node.name)


STATEMENTS: dict[type[ast.stmt], Callable[[Run, Any, Frame], None]] = {
    ast.Assign: _assigns,
    ast.AnnAssign: _annotates,
    ast.AugAssign: _adds,
    ast.Expr: _evaluates,
    ast.Return: _returns,
    ast.Raise: _raises,
    ast.Break: _breaks,
    ast.Continue: _continues,
    ast.If: _branches,
    ast.For: _for,
    ast.While: _while,
    ast.With: _enters,
    ast.Try: _tries,
    ast.Delete: _forgets,
    ast.FunctionDef: _defines,
    ast.ClassDef: _defines,
}


def assign(run: Run, target: ast.expr, thing: Thing, frame: Frame) -> None:
    """Binds what a target names to an object."""
    match target:
        case ast.Name(id=name):
            run.heap.bind(frame.number, name, thing)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            starred = any(isinstance(one, ast.Starred) for one in targets)
            for number, one in enumerate(targets):
                inner = one.value if isinstance(one, ast.Starred) else one
                assign(run, inner, run.fresh() if starred else run.part(thing, number), frame)
        case ast.Attribute(value=owner, attr=key):
            run.heap.put(run.look(owner, frame), key, thing)
        case ast.Subscript(value=owner, slice=ast.Constant(value=(int() | str()) as entry)):
            run.heap.put(run.look(owner, frame), entry, thing)
        case ast.Subscript(value=owner, slice=index):
            run.use(index, frame)
            run.heap.clear(run.look(owner, frame))
