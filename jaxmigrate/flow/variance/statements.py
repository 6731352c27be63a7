"""What statements do to the variables of a frame. Each says whether what follows it is reached."""
# ruff: noqa: ARG001 - handlers of one table take the same arguments

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from jaxmigrate.flow.variance import bound_axes, decisions, objects, suspicion
from jaxmigrate.flow.variance.expressions import MOST_UNROLLED, closure, operated, uncertain
from jaxmigrate.flow.variance.frames import Arguments, Frame, Loop, Names
from jaxmigrate.flow.variance.lattice import (
    EQUAL,
    AbstractValue,
    Level,
    doubtful,
    each,
    element,
    join,
    join_all,
    replace,
    shallow,
    whole,
)
from jaxmigrate.flow.variance.run import Run, stored_of, weaker, widened
from jaxmigrate.program.values import Constant

MOST_ROUNDS = 6


def execute(run: Run, body: Sequence[ast.stmt], frame: Frame) -> bool:
    """Runs statements; whether their end is reached."""
    return all(HANDLERS.get(type(statement), _unknown)(run, statement, frame) for statement in body)


def _assign(run: Run, node: ast.Assign, frame: Frame) -> bool:
    value = run.evaluate(node.value, frame)
    for target in node.targets:
        objects.assign(run, target, value, frame)
    return True


def _annotated(run: Run, node: ast.AnnAssign, frame: Frame) -> bool:
    if node.value is not None:
        objects.assign(run, node.target, run.evaluate(node.value, frame), frame)
    return True


OPERATORS_IN_PLACE: dict[type[ast.operator], str] = {
    ast.Sub: "__isub__",
    ast.Mult: "__imul__",
    ast.Div: "__itruediv__",
    ast.FloorDiv: "__ifloordiv__",
    ast.Mod: "__imod__",
    ast.Pow: "__ipow__",
    ast.MatMult: "__imatmul__",
    ast.LShift: "__ilshift__",
    ast.RShift: "__irshift__",
}
OPERATORS = tuple(OPERATORS_IN_PLACE)
IN_PLACE = frozenset({*OPERATORS_IN_PLACE.values(), "__iadd__", "__iand__", "__ior__", "__ixor__"})


def _augmented(run: Run, node: ast.AugAssign, frame: Frame) -> bool:
    before, value = run.evaluate(node.target, frame), run.evaluate(node.value, frame)
    if before.places and before.kind != "array" and _changes_in_place(run, node.op, before, value):
        after = weaker(before, value)
        objects.replace_object(run, node.target, before, after, value, frame)
        if objects.own_methods(run, before, IN_PLACE):
            run.change_within(before, stored_of([before, value]))
        if not isinstance(node.target, ast.Name):
            objects.assign(run, node.target, after, frame)
        return True
    objects.assign(run, node.target, operated(run, node.target, node.op, before, value, frame), frame)
    return True


def _changes_in_place(run: Run, op: ast.operator, before: AbstractValue, value: AbstractValue) -> bool:
    """Whether `a op= b` may change an object that goes by other names.

    Lists, sets and dictionaries have `+=`, `|=`, `&=` and `^=`. With the others NumPy's arrays do what is no concern
    here: they hold the same on all devices, and `a *= traced` makes another array.
    """
    if not isinstance(op, OPERATORS) or (isinstance(op, ast.Mult) and before.parts is not None):
        return True
    return before.host or value.host or run.defines(OPERATORS_IN_PLACE[type(op)])


def _return(run: Run, node: ast.Return, frame: Frame) -> bool:
    value = run.evaluate(node.value, frame) if node.value is not None else EQUAL
    frame.returned.append(run.settle(value))
    frame.doubtful |= bool(run.doubt)
    return False


def _expression(run: Run, node: ast.Expr, frame: Frame) -> bool:
    run.evaluate(node.value, frame)
    return True


def _assert(run: Run, node: ast.Assert, frame: Frame) -> bool:
    run.evaluate(node.test, frame)
    return True


def _class(run: Run, node: ast.ClassDef, frame: Frame) -> bool:
    """What stands in a class is run for what it does; the class itself is read where it is used."""
    execute(run, node.body, Frame(frame.module, None, frame))
    return True


def _raise(run: Run, node: ast.Raise, frame: Frame) -> bool:
    return False


def _leave(run: Run, node: ast.Break | ast.Continue, frame: Frame) -> bool:
    if frame.loops:
        loop = frame.loops[-1]
        names = {n: run.settle(v) for n, v in frame.names.items()} if run.doubt else dict(frame.names)
        (loop.left if isinstance(node, ast.Break) else loop.again).append(names)
    return False


def _if(run: Run, node: ast.If, frame: Frame) -> bool:
    ways = [lambda: execute(run, node.body, frame), lambda: execute(run, node.orelse, frame)]
    if (known := _is_none(run, node.test, frame)) is not None:
        return _ways(run, [ways[not known]], frame, False)
    doubt = uncertain(run, node.test, frame)
    if (settled := decisions.outcome(run, node.test, frame)) is not None:
        return _ways(run, [ways[not settled]], frame, False)
    truth = suspicion.known_truth(run, node.test, frame) if run.mode.lenient else None
    if run.mode.lenient and truth is None and suspicion.counts_processes(node.test):
        start = frame.names
        reached = _ways(run, ways, frame, doubt)
        frame.names = suspicion.left_unreduced(start, frame.names)
        return reached
    suspects = run.mode.lenient and not suspicion.is_about_maps(node.test)
    return _ways(run, ways if truth is None else [ways[not truth]], frame, doubt, suspects)


def _is_none(run: Run, test: ast.expr, frame: Frame) -> bool | None:
    """What `x is None` or `x is not None` is where x is certainly an array, a function, or None; else None."""
    match test:
        case ast.Compare(left=ast.Name() as name, ops=[(ast.Is() | ast.IsNot()) as op], comparators=[other]):
            if not (isinstance(other, ast.Constant) and other.value is None):
                return None
            value = run.evaluate(name, frame)
            is_there = value.kind == "array" or suspicion.is_function(value)
            if is_there or value.static == Constant(None):
                return isinstance(op, ast.IsNot) is is_there
    return None


def _match(run: Run, node: ast.Match, frame: Frame) -> bool:
    subject = run.evaluate(node.subject, frame)
    doubt = uncertain(run, node.subject, frame)

    def way(case: ast.match_case) -> Callable[[], bool]:
        def taken() -> bool:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    objects.bind_name(run, name, run.settle(whole(subject)), frame)
            return execute(run, case.body, frame)

        return taken

    return _ways(run, [*[way(case) for case in node.cases], lambda: True], frame, doubt)


def _ways(run: Run, ways: Sequence[Callable[[], bool]], frame: Frame, doubt: bool, suspects: bool = False) -> bool:
    """Runs alternatives from one start and joins what they leave; doubtful where processes may take different ones."""
    start, ends = frame.names, list[Names]()
    run.doubt += doubt
    for way in ways:
        frame.names = dict(start)
        if way():
            ends.append(frame.names)
    run.doubt -= doubt
    frame.names = joined(ends) if ends else dict(start)
    if run.mode.lenient and len(ends) > 1:
        frame.names = suspicion.with_either(run, ends, frame.names)
    if suspects and len(ends) > 1:
        frame.names = suspicion.suspected(start, ends, frame.names)
    stopped = len(ends) < len(ways)
    if doubt and stopped and ends:
        # the rest is reached only by some processes: what it stores and returns is not certain either
        frame.doubtful = True
    return bool(ends)


def joined(ends: Sequence[Names]) -> Names:
    """What the names hold where several ways meet."""
    result = dict(ends[0])
    for other in ends[1:]:
        for name, value in other.items():
            mine = result.get(name)
            result[name] = value if mine is None or mine is value else join(mine, value)
    return result


def _for(run: Run, node: ast.For | ast.AsyncFor, frame: Frame) -> bool:
    source = run.evaluate(node.iter, frame)
    if source.parts is not None and len(source.parts) <= MOST_UNROLLED and not source.host and not _leaves(node):
        for part in source.parts:
            objects.assign(run, node.target, part, frame)
            if not execute(run, node.body, frame):
                return False
        return execute(run, node.orelse, frame)

    def around() -> bool:
        objects.assign(run, node.target, element(source), frame)
        return execute(run, node.body, frame)

    _rounds(run, around, frame, source.host)
    return _after(run, node, frame, source.host)


def _leaves(node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether a loop may be left, or gone round, from its middle."""
    return any(isinstance(inner, ast.Break | ast.Continue) for statement in node.body for inner in ast.walk(statement))


def _while(run: Run, node: ast.While, frame: Frame) -> bool:
    def around() -> bool:
        run.evaluate(node.test, frame)
        return execute(run, node.body, frame)

    doubt = uncertain(run, node.test, frame)
    _rounds(run, around, frame, doubt, node.test)
    return _after(run, node, frame, doubt or uncertain(run, node.test, frame))


def _after(run: Run, node: ast.For | ast.AsyncFor | ast.While, frame: Frame, doubt: bool) -> bool:
    """The `else` of a loop, which is left out where the loop was left by a `break`."""
    if not node.orelse or not _leaves(node):
        return execute(run, node.orelse, frame)
    return _ways(run, [lambda: execute(run, node.orelse, frame), lambda: True], frame, doubt)


def _rounds(run: Run, around: Callable[[], bool], frame: Frame, doubt: bool, test: ast.expr | None = None) -> None:
    """Goes round a loop until what the names hold no longer changes."""
    before, changes = frame.names, run.changes
    start, ends = before, list[Names]()
    for count in range(MOST_ROUNDS):
        loop = Loop()
        frame.loops.append(loop)
        run.doubt += doubt
        frame.names = dict(before)
        ends = [frame.names] if around() else []
        run.doubt -= doubt
        frame.loops.pop()
        after = joined([before, *ends, *loop.again, *loop.left])
        if run.mode.lenient and count == 0:
            after = suspicion.grown(before, ends, after)
        if count >= 1:
            after = {name: shallow(value) for name, value in after.items()}
        if count == MOST_ROUNDS - 2:
            after = {n: v if n not in before else widened(before[n], v) for n, v in after.items()}
        settled = after == before and (count > 1 or run.changes == changes)
        before = after
        doubt = doubt or (test is not None and uncertain(run, test, frame))
        if settled:
            break
    frame.names = suspicion.suspected(start, ends, before, around=True) if run.mode.lenient else before


EXITING = frozenset({"__enter__", "__exit__"})


def _with(run: Run, node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
    swallows, entered = False, list[AbstractValue]()
    for item in node.items:
        value = run.evaluate(item.context_expr, frame)
        swallows |= "suppress" in ast.unparse(item.context_expr)
        entered.append(value)
        if item.optional_vars is not None:
            objects.assign(run, item.optional_vars, whole(value), frame)
    if not swallows:
        reached = execute(run, node.body, frame)
        objects.operate(run, entered, EXITING)
        return reached
    return _interrupted(run, node.body, [lambda: True], frame)


def _try(run: Run, node: ast.Try | ast.TryStar, frame: Frame) -> bool:
    handlers: list[Callable[[], bool]] = []
    for handler in node.handlers:
        if bound_axes.is_unreachable(run, handler, node, frame):
            continue

        def handled(handler: ast.ExceptHandler = handler) -> bool:
            if handler.name is not None:
                objects.bind_name(run, handler.name, AbstractValue(Level.MAY), frame)  # whatever it was raised with
            return execute(run, handler.body, frame)

        handlers.append(handled)
    body = [*node.body, *node.orelse]
    never = node.handlers and not handlers
    reached = execute(run, body, frame) if never else _interrupted(run, body, handlers, frame)
    return execute(run, node.finalbody, frame) and reached


def _interrupted(run: Run, body: Sequence[ast.stmt], handlers: Sequence[Callable[[], bool]], frame: Frame) -> bool:
    """A body that may end anywhere, and what is then done instead."""
    start, watched, hosted = frame.names, dict(frame.names), run.hosted
    frame.watching.append(watched)
    frame.names = dict(start)
    reached = execute(run, body, frame)
    frame.watching.pop()  # and no other try that has seen the same until now
    ends = [frame.names] if reached else []
    for handler in handlers:
        frame.names = dict(watched)
        if handler():
            ends.append(frame.names)
    frame.names = joined(ends) if ends else dict(start)
    if run.hosted > hosted and not run.agrees:  # processes may not agree on whether it was interrupted
        frame.names = {n: v if start.get(n) is v else doubtful(v) for n, v in frame.names.items()}
        frame.doubtful |= bool(frame.returned)
    return bool(ends) or not handlers


def _define(run: Run, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> bool:
    value = closure(run, node, frame)
    for decorator in reversed(node.decorator_list):
        value = run.apply(run.evaluate(decorator, frame), Arguments((value,)), None)
    objects.bind_name(run, node.name, run.settle(value) if run.doubt else value, frame)
    return True


def _delete(run: Run, node: ast.Delete, frame: Frame) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Subscript | ast.Attribute):
            owner = run.evaluate(target.value, frame)
            objects.replace_object(run, target.value, owner, weaker(owner, owner), owner, frame)
    return True


def result(run: Run, frame: Frame, reached: bool) -> AbstractValue:
    """What a function's call gives: one of what it returned, or an iterator over what it yielded."""
    found = [*frame.returned, *([EQUAL] if reached and frame.returned else [])]
    value = suspicion.one_of(found) if run.mode.lenient else join_all(found)
    if frame.yielded:
        value = each(join_all(frame.yielded))
    if frame.doubtful:
        value = doubtful(value)
    return replace(value, host=value.host or frame.doubtful)


def _nothing(run: Run, node: ast.stmt, frame: Frame) -> bool:
    """What declares names, or binds those of other modules, which the resolver knows."""
    return True


def _unknown(run: Run, node: ast.stmt, frame: Frame) -> bool:
    """A kind of statement that this version does not know: nothing is known of the result."""
    run.gave_up = True
    return True


Handler = Callable[[Run, Any, Frame], bool]
HANDLERS: dict[type[ast.stmt], Handler] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Expr: _expression,
    ast.Raise: _raise,
    ast.Break: _leave,
    ast.Continue: _leave,
    ast.If: _if,
    ast.Match: _match,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Assert: _assert,
    ast.ClassDef: _class,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.Delete: _delete,
    ast.Pass: _nothing,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
    ast.Import: _nothing,
    ast.ImportFrom: _nothing,
}
