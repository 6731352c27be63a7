"""What a lenient reading, made for rules, takes for granted where a proof could not: which way a test goes, and faults.

A fault on one of several ways is one, so that where ways meet, gradients stay unreduced that one of them has made and
left so. A gradient from before a branch that one way reduces and the other leaves alone is none: somebody has thought
of it, and the test is likely to be whether there is anything to reduce over.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from jaxmigrate.flow.axis_symbols import may_be_axis, spelled
from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.truth import truth
from jaxmigrate.flow.variance.callees import Bound, Closure, Transformed
from jaxmigrate.flow.variance.frames import Frame, Names
from jaxmigrate.flow.variance.lattice import (
    MOST_CHOICES,
    UNREDUCED,
    AbstractValue,
    Callee,
    Choice,
    Level,
    differs,
    each,
    join_all,
    replace,
)
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.collectives import COMMUNICATING
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.scopes import positional_names, walk
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import UNKNOWN, Class, Constant, External, Function, Member, Partial

ABOUT_MAPS = re.compile(
    "axis|axes|pmap|sync|distribut|device|replica|parallel|multi|shard|host|cross|pmean|psum|reduce", re.IGNORECASE
)


def known_truth(run: Run, test: ast.expr, frame: Frame) -> bool | None:
    """How a test of parameters and local variables turns out; None where that is not known."""

    def known(node: ast.expr) -> bool | None:
        constant = _constant(run, node, frame) if isinstance(node, ast.Name) else None
        return None if constant is None else bool(constant.value)

    return truth(test, known, lambda left, right: _agree(run, left, right, frame))


def _agree(run: Run, left: ast.expr, right: ast.expr, frame: Frame) -> bool | None:
    one, other = _constant(run, left, frame), _constant(run, right, frame)
    if one is not None and other is not None:
        return one == other
    return False if other == Constant(None) and _is_function(run, left, frame) else None


def _is_function(run: Run, node: ast.expr, frame: Frame) -> bool:
    """Whether a variable holds a function for certain."""
    if not isinstance(node, ast.Name) or frame.holder(node.id) is None:
        return False
    return is_function(run.evaluate(node, frame))


def is_function(value: AbstractValue) -> bool:
    """Whether a value is a function or a class for certain."""
    return isinstance(value.callee, Closure | Bound | Transformed) or isinstance(value.static, Function | Class)


def _constant(run: Run, node: ast.expr, frame: Frame) -> Constant | None:
    if isinstance(node, ast.Constant):
        return Constant(node.value)
    if not isinstance(node, ast.Name) or frame.holder(node.id) is None:
        return None  # a module's flags are there to be changed
    static = run.evaluate(node, frame).static
    return static if isinstance(static, Constant) else None


def as_axis(run: Run, node: ast.Attribute, value: AbstractValue, frame: Frame) -> AbstractValue:
    """A field, as the axis that what is read is taken to be mapped over if it is that."""
    if spelled(node) in run.axes:
        return replace(value, static=Member(UNKNOWN, node.attr))
    if not may_be_axis(node.attr) or isinstance(value.static, Constant):
        return value
    names = axis_names(node, frame.module, run.resolver, {})
    return replace(value, static=Constant(names)) if names and run.axes <= frozenset(names) else value


def is_about_maps(test: ast.expr) -> bool:
    """Whether a test may ask if there is anything to reduce over."""
    return any(ABOUT_MAPS.search(name) for name in words(test))


def words(test: ast.expr) -> Iterator[str]:
    """The names and texts in an expression."""
    for node in walk(test):
        if isinstance(node, ast.Name | ast.Attribute):
            yield last_name(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def with_either(run: Run, ends: Sequence[Names], after: Names) -> Names:
    """What names hold where ways meet, with the functions that each of the ways has chosen."""
    found = dict(after)
    for name, value in after.items():
        if value.callee is not None or value.static is not None or value.kind == "array":
            continue
        made = [end[name] for end in ends if name in end]
        if len(made) == len(ends):
            found[name] = either(run, made, value)
    return found


def either(run: Run, values: Sequence[AbstractValue], joined: AbstractValue) -> AbstractValue:
    """One of several values, as one of several functions if they are that: `jnp.mean if average else own_sum`."""
    if joined.callee is not None or joined.static is not None or joined.kind == "array":
        return joined
    own = [isinstance(one.static, Function | Partial) or one.callee is not None for one in values]
    if not any(own) or not all(own[n] or isinstance(one.static, External) for n, one in enumerate(values)):
        return joined
    ways = [run.known_callee(one) if own[n] else Bound(one, (), ()) for n, one in enumerate(values)]
    known = tuple(dict.fromkeys(way for way in ways if way is not None))
    return replace(joined, callee=Choice(known)) if len(known) <= MOST_CHOICES and None not in ways else joined


def likely(ways: Sequence[Callee]) -> Sequence[Callee]:
    """Of several functions those that run under a map, if one is a collective: of `pmean` and `lambda x: x`."""
    if not any(map(_is_collective, ways)):
        return ways
    return [way for way in ways if not _is_identity(way)]


def _is_collective(way: Callee) -> bool:
    made = way.callee.static if isinstance(way, Bound) else None
    return isinstance(made, External) and made.name in COMMUNICATING


def _is_identity(way: Callee) -> bool:
    function = way.function.node if isinstance(way, Closure) else None
    returned = returned_by(function) if function is not None else []
    names = positional_names(function.args) if function is not None else []
    return len(returned) == 1 and isinstance(returned[0], ast.Name) and returned[0].id in names[:1]


def counts_processes(test: ast.expr) -> bool:
    """Whether a test asks for several processes, which says nothing of how many devices there are."""
    return isinstance(test, ast.Compare) and any(
        last_name(n.func) == "process_count" for n in walk(test) if isinstance(n, ast.Call)
    )


def left_unreduced(start: Names, after: Names) -> Names:
    """What names hold after a branch that several processes take, with gradients that one alone leaves unreduced."""
    lost = {n: v for n, v in after.items() if n in start and start[n].gradient and not v.gradient and not v.reduced}
    return {**after, **{n: replace(v, gradient=True, marks=v.marks | {UNREDUCED}) for n, v in lost.items()}}


def grown(start: Names, ends: Sequence[Names], after: Names) -> Names:
    """What names hold after a round, with lists that were empty before it: what they get is what they have."""
    found = dict(after)
    for end in ends:
        for name, value in end.items():
            empty = name in start and start[name].parts == ()
            if empty and value.parts and len(ends) == 1:
                items = each(join_all(value.parts), after[name].places)
                found[name] = replace(items, own=after[name].own, host=after[name].host)
    return found


def suspected(start: Names, ends: Sequence[Names], after: Names, *, around: bool = False) -> Names:
    """What names hold where ways meet, with gradients, and what differs, that one way made and did not reduce.

    `around`: after a loop, which may go round no time at all.
    """
    found = dict(after)
    for name, value in after.items():
        first = start.get(name)
        made = [end[name] for end in ends if name in end and end[name] is not first]
        if not made:
            continue
        if value.level == Level.MAY:
            others = [first] if first is not None and len(made) < len(ends) + around else []
            found[name] = value = one_of([*others, *made], value)
        if not value.gradient and any(one.gradient for one in made):
            found[name] = replace(value, gradient=True)
    return found


def one_of(values: Sequence[AbstractValue], joined: AbstractValue | None = None) -> AbstractValue:
    """What one of several ways gives; where some give what differs and the others a constant, what differs.

    `loss = 0.0` that some condition adds to is as much a loss of one device's own as any.
    """
    known = joined if joined is not None else join_all(values)
    if known.level != Level.MAY:
        return known
    own = [one for one in values if differs(one) or one.gradient]
    if not own or len(own) == len(values):
        return _by_parts(values, known)
    if not all(_is_constant(one) for one in values if one not in own):
        return _by_parts(values, known)
    sure = join_all(own)
    return replace(
        known,
        level=sure.level,
        gradient=sure.gradient,
        updated=sure.updated,
        inner=sure.inner,
        marks=sure.marks,
        parts=sure.parts,
        fields=sure.fields,
    )


def _by_parts(values: Sequence[AbstractValue], known: AbstractValue) -> AbstractValue:
    """The same for each part of tuples of one length."""
    if known.parts is None:
        return known
    parts = tuple(one_of([one.parts[n] for one in values if one.parts is not None]) for n in range(len(known.parts)))
    level = max((part.level for part in parts), default=known.level)
    return replace(known, parts=parts, level=level if level == Level.YES else known.level)


def _is_constant(value: AbstractValue) -> bool:
    """Whether a value is made of nothing that the map is given, and of no reduction."""
    plain = value.level == Level.NO and not (value.host or value.reduced or value.marks or value.gradient)
    made = isinstance(value.static, Constant) or value.kind == "array" or not (value.static or value.callee)
    return plain and made and not value.parts and not value.fields
