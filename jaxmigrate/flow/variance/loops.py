"""JAX's structured control flow: scan, loops, branches, maps over trees."""
# ruff: noqa: ARG001 - handlers of one table take the same arguments

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from jaxmigrate.flow.operations import function_operations, same_sequence, within_map
from jaxmigrate.flow.variance import order, suspicion
from jaxmigrate.flow.variance.callees import Closure
from jaxmigrate.flow.variance.carries import noting
from jaxmigrate.flow.variance.counting import counts_steps
from jaxmigrate.flow.variance.frames import Arguments, Frame, fresh
from jaxmigrate.flow.variance.lattice import (
    ARRAY,
    BESIDE,
    EQUAL,
    AbstractValue,
    Kind,
    Level,
    dict_of,
    differs,
    element,
    join,
    join_all,
    list_of,
    mapped,
    part_at,
    rebuilt,
    replace,
    shallow,
    tuple_of,
    union,
    unsure,
    whole,
)
from jaxmigrate.flow.variance.run import Run, at_least, widened
from jaxmigrate.flow.variance.summary import Divergence
from jaxmigrate.program.values import UNKNOWN, Application, Function, Partial, Value

MOST_ROUNDS = 6


def fixpoint(
    run: Run, start: AbstractValue, around: Callable[[AbstractValue], AbstractValue]
) -> tuple[AbstractValue, AbstractValue]:
    """What a carried value can be at the start of any round, and what a round then gives."""
    carry = start
    given = around(carry)
    for count in range(MOST_ROUNDS):
        after = shallow(join(carry, given), 4)
        if after == carry:
            break
        carry = widened(carry, after) if count == MOST_ROUNDS - 2 else after
        given = around(carry)
    return carry, given


def carried(start: AbstractValue, given: AbstractValue) -> AbstractValue:
    """A loop's result: what a round gives; certain to be equal only if it is so without any round, too."""
    if start.parts is not None and given.parts is not None and len(start.parts) == len(given.parts):
        return list_of([carried(a, b) for a, b in zip(start.parts, given.parts, strict=True)])
    if given.level == Level.NO and start.level != Level.NO:
        return join(start, given)
    return given


def scan(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`scan(f, init, xs)`."""
    function, start = arguments.find(0, "f") or EQUAL, arguments.find(1, "init") or EQUAL
    rows = arguments.find(2, "xs") or EQUAL

    last = EQUAL

    def around(carry: AbstractValue) -> AbstractValue:
        nonlocal last
        last = run.apply(function, Arguments((carry, rows)), node, frame)
        return part_at(last, 0)

    fixpoint(run, start, noting(run, node, frame, around))
    return tuple_of([carried(start, part_at(last, 0)), part_at(last, 1)])


def fori_loop(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`fori_loop(lower, upper, body, init)`."""
    bounds = union([arguments.find(0, "lower") or EQUAL, arguments.find(1, "upper") or EQUAL])
    body, start = arguments.find(2, "body_fun") or EQUAL, arguments.find(3, "init_val") or EQUAL
    index = replace(bounds, kind="array")
    around = noting(run, node, frame, lambda c: run.apply(body, Arguments((index, c)), node, frame))
    _, given = fixpoint(run, start, around)
    if differs(bounds) and node is not None and frame is not None:
        _diverging(run, _written(node, slice(2, 3), "body_fun"), node, frame, [body], alone=True)
    return at_least(carried(start, given), bounds.level)


METRICS = re.compile(r"loss|(^|_)norms?(_|$)|error|reward|entropy|(^|_)kl(_|$)|finite|isnan")


def while_loop(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`while_loop(cond, body, init)`: devices may go round it unlike numbers of times."""
    test, body = arguments.find(0, "cond_fun") or EQUAL, arguments.find(1, "body_fun") or EQUAL
    start = arguments.find(2, "init_val") or EQUAL
    around = noting(run, node, frame, lambda c: run.apply(body, Arguments((c,)), node, frame))
    carry, given = fixpoint(run, start, around)
    again = run.apply(test, Arguments((carry,)), node, frame)
    at_first = run.apply(test, Arguments((start,)), node, frame)  # it may be equal once the body has reduced it
    later = run.apply(test, Arguments((given,)), node, frame)  # it may be equal before the first round alone
    if any(map(differs, (again, at_first, later))) and node is not None and frame is not None:
        _diverging(run, _written(node, slice(0, 2), "cond_fun", "body_fun"), node, frame, [test, body], alone=True)
    return at_least(join(start, given), again.level)


def cond(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`cond(pred, true_fun, false_fun, *operands)`, or its old form with an operand for each."""
    predicate, *rest = arguments.given or (arguments.find(0, "pred") or EQUAL,)
    ways = [
        arguments.find(1, "true_fun") or EQUAL,
        arguments.find(2, "false_fun") or EQUAL,
    ]
    operands = [tuple(rest[2:])] * 2
    if "operand" in arguments.named:
        operands = [(arguments.named["operand"],)] * 2
    if len(rest) == 4 and run.known_callee(rest[3]) is not None:
        ways, operands = [rest[1], rest[3]], [(rest[0],), (rest[2],)]
    elif node is not None and frame is not None and _divides(run, predicate, node, frame):
        _diverging(run, _written(node, slice(1, 3), "true_fun", "false_fun"), node, frame, ways)
    before = run.reductions
    found = [
        run.apply(way, Arguments(given, rest=arguments.rest), node, frame)
        for way, given in zip(ways, operands, strict=True)
    ]
    if run.reductions == before:  # else devices wait for each other, which is worse
        order.choose(run, predicate, found, node)
    result = at_least(_either(run, found), min(predicate.level, Level.MAY))
    if any(one.reduced and not one.updated for one in found):  # devices that train apart, and are averaged at times
        return mapped(result, lambda v: replace(v, updated=False))
    return result


def _either(run: Run, found: Sequence[AbstractValue]) -> AbstractValue:
    return suspicion.one_of(found) if run.mode.lenient else join_all(found)


def _divides(run: Run, predicate: AbstractValue, node: ast.Call, frame: Frame) -> bool:
    """Whether a predicate of `cond` parts the devices; what counts steps alone is the same on all."""
    if not (differs(predicate) or _is_metric(predicate, node)):
        return False
    return not (node.args and counts_steps(run.resolver, node.args[0], frame.module))


def _is_metric(predicate: AbstractValue, node: ast.Call) -> bool:
    """Whether a predicate is made of a loss of which a gradient is taken, or of what comes with it, unreduced."""
    if predicate.level == Level.NO or predicate.reduced or BESIDE not in predicate.marks or not node.args:
        return False
    return any(METRICS.search(word) for word in suspicion.words(node.args[0]))


def switch(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`switch(index, branches, *operands)`."""
    index, branches = arguments.find(0, "index") or EQUAL, arguments.find(1, "branches") or EQUAL
    ways = branches.parts if branches.parts is not None else (element(branches),)
    if differs(index) and node is not None and frame is not None and len(node.args) > 1:
        listed = node.args[1].elts if isinstance(node.args[1], ast.Tuple | ast.List) else [node.args[1]] * len(ways)
        _diverging(run, listed, node, frame, ways)
    operands = Arguments(arguments.given[2:], rest=arguments.rest)
    found = [run.apply(way, operands, node, frame) for way in ways]
    return at_least(_either(run, found), min(index.level, Level.MAY))


def _written(node: ast.Call, places: slice, *names: str) -> list[ast.expr]:
    """The functions that a call is given, as they are written."""
    return [*node.args[places], *(k.value for name in names for k in node.keywords if k.arg == name)]


def _diverging(
    run: Run,
    written: Sequence[ast.expr],
    node: ast.Call,
    frame: Frame,
    ways: Sequence[AbstractValue],
    alone: bool = False,
) -> None:
    """Notes a branch that devices take differently, where its ways differ in their collectives."""
    if len(written) != len(ways):
        return
    values = [_function_of(run, one, way, frame) for one, way in zip(written, ways, strict=True)]
    inside = [function_operations(value, run.resolver) if value != UNKNOWN else None for value in values]
    found = [None if one is None else within_map(one) for one in inside]
    known = [operations for operations in found if operations is not None]
    if run.quiet() or not known or (not alone and len(known) != len(found)):
        return
    first = known[0]
    other = next((o for o in known if (o and alone) or not same_sequence(first, o)), None)
    if other is not None:
        run.reading.divergences.append(Divergence(frame.module, node, max(first, other, key=len)[0]))


def _function_of(run: Run, written: ast.expr, way: AbstractValue, frame: Frame) -> Value:
    """The function that is given, as it is written or, where that is a name for any, as it is known."""
    value = run.resolver.value(written, frame.module)
    if isinstance(value, Function | Partial | Application):
        return value
    callee = run.known_callee(way)
    return callee.function if isinstance(callee, Closure) else value


def associative(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """A binary function over the elements of something: `associative_scan`, `reduce`, `tree_reduce`."""
    function, items = arguments.find(0, "fn", "function") or EQUAL, arguments.find(1, "elems", "tree") or EQUAL
    one = element(items) if items.parts is not None else whole(items)  # leaves, of whatever containers
    first = arguments.find(2, "initializer")
    start = first if first is not None else one
    _, given = fixpoint(run, start, lambda c: run.apply(function, Arguments((c, one)), node, frame))
    result = carried(start, given)
    return result if result.kind == "array" else replace(result, places=result.places | start.places | items.places)


def tree_map(
    run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None, with_path: bool = False
) -> AbstractValue:
    """A function over the leaves of trees, keeping the structure of the first."""
    function = arguments.find(0, "f") or EQUAL
    trees = [*arguments.given[1:], *([arguments.named["tree"]] if "tree" in arguments.named else [])]
    leaf = "is_leaf" not in arguments.named
    front = (EQUAL,) if with_path else ()

    def over(values: Sequence[AbstractValue]) -> AbstractValue:
        first = values[0]
        if first.parts is not None:
            rows = [v.parts if v.parts is not None and len(v.parts) == len(first.parts) else None for v in values]
            return tuple_of(
                [over([r[i] if r is not None else whole(v) for r, v in zip(rows, values, strict=True)])
                 for i in range(len(first.parts))]
            )  # fmt: skip
        if first.fields is not None:
            return replace(
                dict_of({n: over([v.fields[n] if v.fields is not None and n in v.fields else whole(v) for v in values])
                         for n in first.fields}),
                static=first.static,
                kind="dict" if first.kind == "dict" else "unknown",
            )  # fmt: skip
        inner = [replace(whole(v), kind="array", places=frozenset()) if leaf else whole(v) for v in values]
        more = (arguments.rest,) if arguments.rest is not None else ()
        result = run.apply(function, Arguments((*front, *inner, *more)), node, frame)
        return replace(result, kind="tree") if result.kind == "array" and first.kind != "array" else result

    if not trees:
        return unsure(union(arguments.all()))
    return fresh(rebuilt(over(trees), node), node, Arguments())


def over_rows(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`jax.lax.map(f, xs)`, and the like: a function of one row."""
    function, rows = arguments.find(0, "f") or EQUAL, arguments.find(1, "xs") or EQUAL
    return run.apply(function, Arguments((rows,)), node, frame)


def leaves(value: AbstractValue) -> AbstractValue:
    """The leaves of a tree, in a list."""
    found: list[AbstractValue] = []
    if not _collect(value, found):
        kind: Kind = "tree" if value.kind in ("array", "tree") else "unknown"
        return AbstractValue(
            value.level, value.gradient, value.updated, value.inner, kind=kind, reduced=value.reduced, host=value.host,
            marks=value.marks, cause=value.cause,
        )  # fmt: skip
    return list_of(found)


def _collect(value: AbstractValue, found: list[AbstractValue]) -> bool:
    held = [*(value.parts or ()), *(value.fields or {}).values()]
    if value.parts is None and value.fields is None:
        if value.kind != "array":
            return False
        found.append(value)
        return True
    return all(_collect(one, found) for one in held) and len(found) <= 16


def unknown_order(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """A function of JAX that calls what it is given, in some way: equal only if nothing that it sees differs."""
    data = [a for a in arguments.all() if run.known_callee(a) is None]
    functions = [a for a in arguments.all() if run.known_callee(a) is not None]
    everything = whole(union(data))
    before = run.clearing
    run.clearing = False
    try:
        for _ in range(2):
            results = [run.apply(f, Arguments(rest=everything), node, frame) for f in functions]
            everything = union([everything, *results])
    finally:
        run.clearing = before
    if everything.level == Level.NO and not everything.host:
        return fresh(replace(EQUAL, marks=everything.marks), node, Arguments())
    return replace(unsure(everything), host=everything.host)


__all__ = ["ARRAY", "mapped"]
