"""Runs statements in their order: where ways part and meet again, and where an exception may leave them.

A way that control does not get to the end of leaves no environment, and what two ways leave is joined where they meet.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jaxmigrate.flow import conditions
from jaxmigrate.flow.layout import (
    assignments,
    classes,
    definitions,
    expressions,
    foreign_bases,
    frames,
    host_arithmetic,
    jaxline,
    known_keys,
    loops_that_run,
    named_functions,
    outcomes,
    projections,
    several_devices,
)
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Env, Frame
from jaxmigrate.flow.layout.shape_texts import is_zero
from jaxmigrate.flow.layout.values import (
    NONE,
    NOTHING,
    NUMBER,
    PLAIN,
    Abstract,
    Func,
    Nothing,
    Numpys,
    Ref,
    Seq,
    func,
    same,
)
from jaxmigrate.flow.map_prefilter import MAPS
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, External, Member

LEAVING = named("leaves")
PASSING = starting("passes")
PASSING_METHODS = frozenset(
    {"open", "as_default", "scope", "name_scope", "device", "step_timer", "log_timing", "timed"}
)


def block(it: Interpreter, statements: Iterable[ast.stmt], frame: Frame) -> None:
    """Runs statements one after the other, as far as control gets."""
    for statement in statements:
        if frame.env is None:
            return
        TRANSFERS.get(type(statement), _other)(it, statement, frame)
        for reached in frame.reached:
            _reach_handler(it, reached, statement, frame)


def _leaves(it: Interpreter, call: ast.Call, frame: Frame) -> bool:
    """Whether a call never gives the control back, as `sys.exit()`."""
    function = it.resolver.value(call.func, frame.module)
    return isinstance(function, External) and function.name in LEAVING


def _reach_handler(it: Interpreter, reached: Env, node: ast.AST, frame: Frame) -> None:
    """Any statement inside of a try can be the last one that runs before a handler."""
    if frame.env is not None:
        joined = it.join_env(dict(reached), dict(frame.env), node, frame.module) or {}
        reached.clear()
        reached.update(joined)


def _expression(it: Interpreter, node: ast.Expr, frame: Frame) -> None:
    it.evaluate(node.value, frame)
    if isinstance(node.value, ast.Call) and _leaves(it, node.value, frame):
        frame.env = None


def _assign(it: Interpreter, node: ast.Assign, frame: Frame) -> None:
    result = it.evaluate(node.value, frame)
    for target in node.targets:
        assignments.assign(it, target, result, node, frame)


def _annotated(it: Interpreter, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assignments.assign(it, node.target, it.evaluate(node.value, frame), node, frame)


def _return(it: Interpreter, node: ast.Return, frame: Frame) -> None:
    result = it.evaluate(node.value, frame) if node.value is not None else NONE
    if frame.function is not None:
        it.returned(frame.function.node, result, node, frame)
    frame.env = None


def _if(it: Interpreter, node: ast.If, frame: Frame) -> None:
    expressions.test(it, node.test, frame)
    assumed = outcomes.holds(it, node.test, frame)
    if assumed is not None:
        several_devices.pass_over(it, node, frame)
        _branches(it, [node.body if assumed else node.orelse], node, frame)
        return
    truth = conditions.known_truth(it.resolver, node.test, frame.module)
    if truth is not None and not isinstance(node.test, ast.Compare) and _makes_map(node.orelse if truth else node.body):
        truth = None  # a flag that says whether to map at all is for whoever runs the program
    untaken = [] if truth is None else node.orelse if truth else node.body
    if _takes_apart(untaken):
        it.left_out[untaken[0]] = frame.module
        truth = None if it.every_branch else truth
    for statement in () if truth is None else node.orelse if truth else node.body:
        it.mark_loads(statement)  # what never runs reads nothing
    _branches(it, [node.body, node.orelse] if truth is None else [node.body if truth else node.orelse], node, frame)


def _makes_map(statements: Iterable[ast.stmt]) -> bool:
    names = (last_name(n) for one in statements for n in ast.walk(one) if isinstance(n, ast.Name | ast.Attribute))
    return not MAPS.isdisjoint(names)


def _takes_apart(statements: Iterable[ast.stmt]) -> bool:
    """Whether some statements may take the first of the slices of an array, or make slices, at first sight."""
    nodes = [inner for one in statements for inner in ast.walk(one)]
    return any(isinstance(n, ast.Subscript) and is_zero(n.slice) for n in nodes) or not outcomes.DECIDED.isdisjoint(
        last_name(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute)
    )


def _with(it: Interpreter, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
    for item in node.items:
        context = it.evaluate(item.context_expr, frame)
        it.block_all(
            [context], Stacked.READ_ON_HOST.reason("is used as a context manager"), item.context_expr, frame.module
        )
        if item.optional_vars is not None:
            assignments.assign(it, item.optional_vars, PLAIN, node, frame)
    _guarded(it, node.body, any(_may_suppress(it, item.context_expr, frame) for item in node.items), node, frame)


def _raise(it: Interpreter, node: ast.Raise, frame: Frame) -> None:
    for raised in filter(None, (node.exc, node.cause)):
        it.block_all([it.evaluate(raised, frame)], Stacked.PASSED_ON.reason("is raised"), node, frame.module)
    frame.env = None


def _break(_it: Interpreter, _node: ast.Break, frame: Frame) -> None:
    _leave(frame.breaks, frame)


def _continue(_it: Interpreter, _node: ast.Continue, frame: Frame) -> None:
    _leave(frame.continues, frame)


def _delete(it: Interpreter, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Subscript | ast.Attribute):
            whole = it.evaluate(target.value, frame)
            it.block_all(
                [whole] if isinstance(whole, Ref) else [],
                Stacked.READ_ON_HOST.reason("has an item or attribute deleted"),
                node,
                frame.module,
            )


def _assert(it: Interpreter, node: ast.Assert, frame: Frame) -> None:
    expressions.test(it, node.test, frame)
    if node.msg is not None:
        it.block_all([it.evaluate(node.msg, frame)], Stacked.READ_ON_HOST.reason("is shown"), node, frame.module)


def _nothing(_it: Interpreter, _node: ast.stmt, _frame: Frame) -> None:
    """What declares names, or does nothing."""


def _other(it: Interpreter, node: ast.stmt, frame: Frame) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            unknown = it.evaluate(child, frame)
            it.block_all(
                [unknown],
                Stacked.NOT_FOLLOWED.reason("is used in a statement that fix cannot follow"),
                node,
                frame.module,
            )


def _leave(stack: list[list[Env]], frame: Frame) -> None:
    if stack and frame.env is not None:
        stack[-1].append(frame.env)
    frame.env = None


def _augmented(it: Interpreter, node: ast.AugAssign, frame: Frame) -> None:
    """`x += y`: on a list that the program fills, an extension; on arrays, arithmetic."""
    before = it.evaluate(node.target, frame)
    value = it.evaluate(node.value, frame)
    if isinstance(before, Seq) and isinstance(node.op, ast.Add):
        it.fill(before.box, projections.element(it, value, node, frame), node, frame.module)
        return
    made = _computed_in_place(it, node, before, value, frame)
    if made is not None:
        assignments.assign(it, node.target, made, node, frame)
        return
    it.block_all(
        [before, value], Stacked.READ_ON_HOST.reason("takes part in arithmetic on the host"), node, frame.module
    )
    if not isinstance(before, Nothing):
        assignments.assign(it, node.target, PLAIN, node, frame)


def _computed_in_place(
    it: Interpreter, node: ast.AugAssign, before: Abstract, value: Abstract, frame: Frame
) -> Abstract | None:
    """The new array that `x *= 2` makes of a number, or of an array of JAX's; NumPy changes its array in place."""
    if before != NUMBER and not (isinstance(before, Ref) and before.numpys is Numpys.NO):
        return None
    if not isinstance(node.op, host_arithmetic.OPERATORS):
        return None
    return host_arithmetic.computed(it, [(before, node.target), (value, node.value)], node, frame)


def _branches(it: Interpreter, bodies: Sequence[Sequence[ast.stmt]], node: ast.AST, frame: Frame) -> None:
    """Runs alternatives from the same start and joins what they leave."""
    start = frame.env
    after: Env | None = None
    for body in bodies:
        frame.env = dict(start) if start is not None else None
        block(it, body, frame)
        after = it.join_env(after, frame.env, node, frame.module)
    frame.env = after


def _loop(it: Interpreter, node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> None:
    """Runs a loop's body until what it starts from no longer changes."""
    each: list[Abstract] = [NOTHING]
    if not isinstance(node, ast.While):
        over = it.evaluate(node.iter, frame)
        each = known_keys.in_turn(it, node.target, node.iter, over, frame)
        each = each or [projections.element(it, over, node.iter, frame, node.iter)]
    exits: list[Env] = []
    end: Env | None = None
    for _ in range(12):
        settled = True
        for item in each:
            head = dict(frame.env) if frame.env is not None else None
            if head is None:
                return
            if isinstance(node, ast.While):
                expressions.test(it, node.test, frame)
            else:
                assignments.assign(it, node.target, item, node, frame)
            captured = len(frame.captured)
            end = _once(it, node, exits, frame)
            joined = it.join_env(dict(head), end, node, frame.module)
            settled &= _same_env(joined, head) and len(frame.captured) == captured
            frame.env = joined
        if settled:
            break
    else:
        it.block_all(
            (frame.env or {}).values(),
            Stacked.NOT_FOLLOWED.reason("changes in a loop in a way that fix cannot follow"),
            node,
            frame.module,
        )
    loops_that_run.leave(it, node, end, frame)
    endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
    if endless:
        frame.env = None
    block(it, node.orelse, frame)
    for env in exits:
        frame.env = it.join_env(frame.env, env, node, frame.module)


def _once(it: Interpreter, node: ast.For | ast.AsyncFor | ast.While, exits: list[Env], frame: Frame) -> Env | None:
    """Runs a loop's body once: what is there at its end; what a `break` leaves is added to `exits`."""
    frame.breaks.append([])
    frame.continues.append([])
    block(it, node.body, frame)
    end = frame.env
    for env in frame.continues.pop():
        end = it.join_env(end, env, node, frame.module)
    exits += frame.breaks.pop()
    return end


def _attempt(it: Interpreter, node: ast.Try | ast.TryStar, frame: Frame) -> None:
    """A try: any statement of its body can be the last one that runs before a handler."""
    start = dict(frame.env or {})
    reached: Env = dict(start)
    frame.reached.append(reached)
    block(it, node.body, frame)
    frame.reached.pop()
    if frame.env is not None:
        block(it, node.orelse, frame)
    after = frame.env
    for handler in node.handlers:
        frame.env = dict(reached or {})
        if handler.type is not None:
            it.evaluate(handler.type, frame)
        if handler.name:
            frames.assign_name(it, handler.name, PLAIN, handler, frame)
        block(it, handler.body, frame)
        after = it.join_env(after, frame.env, node, frame.module)
    if node.finalbody:
        leaves = after is None
        frame.env = it.join_env(after, dict(reached), node, frame.module)
        block(it, node.finalbody, frame)
        after = None if leaves else frame.env
    frame.env = after


def _guarded(it: Interpreter, body: Sequence[ast.stmt], suppresses: bool, node: ast.AST, frame: Frame) -> None:
    """The body of a with, which an exception may end anywhere if what it enters suppresses that."""
    reached: Env = dict(frame.env or {})
    if not suppresses:
        block(it, body, frame)
        return
    frame.reached.append(reached)
    block(it, body, frame)
    frame.reached.pop()
    frame.env = it.join_env(frame.env, reached, node, frame.module)


def _may_suppress(it: Interpreter, node: ast.expr, frame: Frame) -> bool:
    """Whether a context manager may swallow an exception: all that are not known to let it pass."""
    name = it.idioms.called(node, frame.module)
    if isinstance(node, ast.Call) and not name:
        value = it.resolver.value(node.func, frame.module)
        name = value.name if isinstance(value, Member) else ""
        return name not in PASSING_METHODS
    return not name.startswith(PASSING)


def _match(it: Interpreter, node: ast.Match, frame: Frame) -> None:
    """A match: what it takes apart is not followed."""
    subject = it.evaluate(node.subject, frame)
    it.block_all([subject], Stacked.READ_ON_HOST.reason("is unpacked by a match statement"), node.subject, frame.module)
    start = frame.env
    after = dict(start) if start is not None else None
    for case in node.cases:
        frame.env = dict(start) if start is not None else None
        for pattern in ast.walk(case.pattern):
            name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
            if isinstance(name, str):
                frames.assign_name(it, name, PLAIN, node, frame)
        if case.guard is not None:
            expressions.test(it, case.guard, frame)
        block(it, case.body, frame)
        after = it.join_env(after, frame.env, node, frame.module)
    frame.env = after


def _define_class(it: Interpreter, node: ast.ClassDef, frame: Frame) -> None:
    """Runs a class body, whose names are attributes of its objects."""
    frames.capture(it, node, frame)
    for expression in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
        value = it.evaluate(expression, frame)
        it.block_all(
            [value] if not isinstance(value, Func) else [],
            Stacked.PASSED_ON.reason("is a base"),
            expression,
            frame.module,
        )
    cls = Class(frame.module, node)
    frames.assign_name(it, node.name, func(cls), node, frame)
    scope, env = frame.module.table.own_scope[node], dict(frame.env or {})
    inner = Frame(frame.module, scope, frame.function, env, frame.context, frame.assumed)
    block(it, node.body, inner)
    for name in inner.scope.bindings:
        if inner.env is not None and name in inner.env and any(b.kind != "def" for b in inner.scope.bindings[name]):
            it.set_attribute(cls, name, inner.env[name], node, frame.module)
            if isinstance(inner.env[name], Func) and classes.is_pytree(it, cls):
                it.block_all([inner.env[name]], named_functions.UNSEEN, node, frame.module)
    jaxline.define(it, cls, frame)
    foreign_bases.define(it, cls, frame)


def _same_env(one: Env | None, other: Env | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)


TRANSFERS: dict[type[ast.stmt], Callable[[Interpreter, Any, Frame], None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _loop,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _attempt,
    ast.TryStar: _attempt,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.FunctionDef: definitions.define,
    ast.AsyncFunctionDef: definitions.define,
    ast.ClassDef: _define_class,
    ast.Import: definitions.bind_import,
    ast.ImportFrom: definitions.bind_import,
    ast.Match: _match,
    ast.Delete: _delete,
    ast.Assert: _assert,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
    ast.Pass: _nothing,
}
