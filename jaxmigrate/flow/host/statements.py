"""Runs the statements of the host's code on what is known of its values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from jaxmigrate.flow.factories import outcome
from jaxmigrate.flow.host.frames import Frame, joined_names
from jaxmigrate.flow.host.held import ANY, NOTHING, UNKNOWN, Held, Key, join
from jaxmigrate.flow.host.run import Run

ROUNDS = 2  # of a loop: the second sees what the first one left


def _assigns(run: Run, node: ast.Assign, frame: Frame) -> None:
    held = run.evaluate(node.value, frame)
    for target in node.targets:
        assign(run, target, held, frame)


def _annotates(run: Run, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(run, node.target, run.evaluate(node.value, frame), frame)


def _adds(run: Run, node: ast.AugAssign, frame: Frame) -> None:
    before, added = run.evaluate(node.target, frame), run.evaluate(node.value, frame)
    if before.parts is not None:
        assign(run, node.target, Held(parts={ANY: join(before.element(), added.element())}), frame)
        return
    one = next((one for one in (before, added) if one.axis), before)
    held = one if before.axis == added.axis or one.axis else UNKNOWN
    sources = before.sources + tuple(s for s in added.sources if s not in before.sources)
    assign(run, node.target, held._replace(sources=sources), frame)


def _returns(run: Run, node: ast.Return, frame: Frame) -> None:
    frame.give_back(run.evaluate(node.value, frame) if node.value is not None else NOTHING)


def _branches(run: Run, node: ast.If, frame: Frame) -> None:
    run.evaluate(node.test, frame)
    holds = _holds(run, node.test, frame)
    if holds is None:
        _on_ways(run, [node.body, node.orelse], frame)
    else:
        run.block(node.body if holds else node.orelse, frame)


def _holds(run: Run, test: ast.expr, frame: Frame) -> bool | None:
    """How a test turns out by the flags that a call passes, which the function has not set itself."""
    names = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
    return None if frame.call is None or names & frame.stored else outcome(test, frame.call, run.resolver)


def _rounds(run: Run, node: ast.For | ast.While, frame: Frame) -> None:
    if isinstance(node, ast.For):
        each = run.evaluate(node.iter, frame)
        _loop(run, node.body, frame, node.target, _numbers(node, frame) if is_counted(node) else each)
    else:
        run.evaluate(node.test, frame)
        _loop(run, node.body, frame)
    run.block(node.orelse, frame)


def is_counted(node: ast.For) -> bool:
    """Whether a loop is over numbers: `for epoch in range(10)`."""
    counted = isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
    return counted and isinstance(node.target, ast.Name)


def _numbers(node: ast.For, frame: Frame) -> Held:
    return Held(parts={ANY: Held(False, node.target, frame.module)})


def _enters(run: Run, node: ast.With, frame: Frame) -> None:
    for item in node.items:
        held = run.evaluate(item.context_expr, frame)
        if item.optional_vars is not None:
            assign(run, item.optional_vars, held._replace(axis=None), frame)
    run.block(node.body, frame)


def _tries(run: Run, node: ast.Try, frame: Frame) -> None:
    _on_ways(run, [[*node.body, *node.orelse], *(one.body for one in node.handlers)], frame)
    run.block(node.finalbody, frame)


def _leaves(_run: Run, _node: ast.stmt, frame: Frame) -> None:
    frame.left = True


def _forgets(_: Run, node: ast.Delete, frame: Frame) -> None:
    for one in node.targets:
        if isinstance(one, ast.Name):
            frame.names.pop(one.id, None)


def _defines(_: Run, node: ast.FunctionDef | ast.ClassDef, frame: Frame) -> None:
    frame.names.pop(node.name, None)


def _evaluates(run: Run, node: ast.Expr, frame: Frame) -> None:
    run.evaluate(node.value, frame)


STATEMENTS: dict[type[ast.stmt], Callable[[Run, Any, Frame], None]] = {
    ast.Assign: _assigns,
    ast.AnnAssign: _annotates,
    ast.AugAssign: _adds,
    ast.Expr: _evaluates,
    ast.Return: _returns,
    ast.If: _branches,
    ast.For: _rounds,
    ast.While: _rounds,
    ast.With: _enters,
    ast.Try: _tries,
    ast.Raise: _leaves,
    ast.Break: _leaves,
    ast.Continue: _leaves,
    ast.Delete: _forgets,
    ast.FunctionDef: _defines,
    ast.ClassDef: _defines,
}


def _on_ways(run: Run, ways: Sequence[Sequence[ast.stmt]], frame: Frame) -> None:
    """Runs blocks of which one runs, and keeps what is true behind all that end."""
    before = frame.names
    behind: dict[str, Held] | None = None
    for block in ways:
        frame.names, frame.left = dict(before), False
        run.block(block, frame)
        if not frame.left:
            behind = frame.names if behind is None else joined_names(behind, frame.names)
    frame.left = behind is None
    frame.names = before if behind is None else behind


def _loop(run: Run, body: Sequence[ast.stmt], frame: Frame, target: ast.expr | None = None, of: Held = UNKNOWN) -> None:
    """Runs a loop's body, whose second round begins with what the first one left; or no round at all."""
    behind = dict(frame.names)
    for _ in range(ROUNDS):
        if target is not None:
            assign(run, target, of.element(), frame)
        run.block(body, frame)
        frame.left = False
        behind = joined_names(behind, frame.names)
    frame.names = behind


def assign(run: Run, target: ast.expr, held: Held, frame: Frame) -> None:
    """Binds what a target names."""
    match target:
        case ast.Name(id=name):
            frame.store(name, held)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for number, one in enumerate(targets):
                if isinstance(one, ast.Starred):
                    assign(run, one.value, UNKNOWN, frame)
                else:
                    assign(run, one, held.part(number), frame)
        case ast.Attribute() | ast.Subscript():
            path = path_of(target)
            if path is not None:
                frame.store_path(path, held)
            elif isinstance(target, ast.Subscript) and (owner := path_of(target.value)) is not None:
                frame.store_path((*owner, ANY), join(_at(frame, (*owner, ANY)), held))


def _at(frame: Frame, path: tuple[Key, ...]) -> Held:
    held = frame.read(str(path[0]))
    for key in path[1:]:
        held = (held.parts or {}).get(key, NOTHING)
    return held


def path_of(node: ast.expr) -> tuple[Key, ...] | None:
    """The name and the fields that lead to a place: `self.state["params"]`."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=owner, attr=key) | ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
            above = path_of(owner)
            return (*above, key) if above is not None else None
        case ast.Subscript(value=owner, slice=ast.Constant(value=int(key))) if not isinstance(key, bool):
            above = path_of(owner)
            return (*above, key) if above is not None else None
    return None
