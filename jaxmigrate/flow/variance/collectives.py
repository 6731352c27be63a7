"""Collectives: which make a value equal on all devices, and which make equal values differ."""

from __future__ import annotations

import ast

from jaxmigrate.flow.axis_symbols import has_symbols, spelled, symbol_of
from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.variance import means, order
from jaxmigrate.flow.variance.frames import Arguments, Frame
from jaxmigrate.flow.variance.lattice import (
    AS_SUMMED,
    AVERAGED,
    DEVICES,
    EQUAL,
    GATHERED,
    GIVEN,
    INDEXED,
    MEAN,
    MEAN_TOTAL,
    NUMBER,
    PIECE,
    SHARE,
    TOTAL,
    TOTALS,
    VARYING,
    AbstractValue,
    Level,
    mapped,
    replace,
    union,
    unsure,
)
from jaxmigrate.flow.variance.library import SHARED
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.flow.variance.summary import Reduction
from jaxmigrate.program.collectives import ASKING, AXIS_POSITIONS, REDUCTIONS
from jaxmigrate.program.library import named
from jaxmigrate.program.values import Constant, Member, Parameter

GATHERS, SCATTERS = "jax.lax.all_gather", "jax.lax.psum_scatter"
EXCHANGING = named("exchanges")
SCALING = frozenset({"jax.lax.psum", "jax.lax.pmean"})  # after which a value is as large as that of one device, or not


def call(run: Run, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """The result of a collective."""
    over = axes_of(run, name, arguments, node, frame)
    operand = arguments.find(0, "x") or EQUAL
    if name == "jax.lax.axis_size":
        return AbstractValue(kind="array", marks=frozenset([DEVICES] if over == run.axes else []))
    if name == "jax.lax.axis_index":
        return _index(run, over)
    if arguments.rest is not None:
        return unsure(union(arguments.all()))
    grouped = "axis_index_groups" in arguments.named and not _is_whole(run, arguments.named["axis_index_groups"])
    full = not grouped and over is not None and run.axes <= over and None not in run.shadowed
    apart = over is not None and not (over & run.axes) and None not in run.shadowed
    run.sent += name not in REDUCTIONS
    order.join_halves(run, operand)
    if name in REDUCTIONS or name in SHARED:
        result = _reduced(run, name, operand, node, frame, full, apart)
        return unsure(result, run.cause(name, node)) if grouped and result.level == Level.MAY else result
    spread = _spread(operand, apart)
    if name in EXCHANGING and operand.gradient:
        run.reading.exchanged = True
    if name == SCATTERS and full and run.mode.lenient:
        means.enlarge(run, operand)
        if run.axes and node is not None and frame is not None and not run.quiet():
            run.reading.scattered.append(Reduction(frame.module, node, name, operand))
        summed = frozenset([means.sum_of_means(node, gradients=True)] if node is not None and operand.gradient else [])
        return mapped(spread, lambda v: replace(v, marks=v.marks | summed | {PIECE}))
    return spread


def axes_of(
    run: Run, name: str, arguments: Arguments, node: ast.Call | None, frame: Frame | None
) -> frozenset[str] | None:
    """The mapped axes that a collective names, those that an inner vmap binds left out; None where not known."""
    position = AXIS_POSITIONS.get(name, ASKING.get(name, 1))
    given = arguments.find(position, "axis_name", "axis")
    names: tuple[str, ...] | None = None
    if given is not None:
        names = _names(given, symbols=run.mode.lenient and has_symbols(run.axes))
    none = run.mode.unmapped and given is not None and given.static == Constant(None)
    if names is None and isinstance(node, ast.Call) and frame is not None and not none:
        found = [k.value for k in node.keywords if k.arg == "axis_name"] or node.args[position : position + 1]
        symbols = run.mode.lenient and has_symbols(run.axes)
        names = axis_names(found[0], frame.module, run.resolver, {}, symbols=symbols) if found else None
        if found and not names and run.mode.unmapped and spelled(found[0]) in run.axes:
            names = (spelled(found[0]),)
    if names is None or (not run.axes <= frozenset(names) and has_symbols({*names, *run.axes})):
        return None  # of a symbol it is not known which axes it is not
    return frozenset(names) - run.shadowed


def varying(run: Run, arguments: Arguments, node: ast.Call | None, frame: Frame | None) -> AbstractValue:
    """`pcast` and `pvary`: a value as equal as it was, of which JAX takes each device's as one of its own."""
    operand = arguments.find(0, "x") or EQUAL
    over = axes_of(run, "jax.lax.pcast", arguments, node, frame)
    if over is not None and not over & run.axes:
        return mapped(operand, lambda v: replace(v, static=None))
    return mapped(operand, lambda v: replace(v, static=None, marks=v.marks | {VARYING}))


def _names(value: AbstractValue, *, symbols: bool) -> tuple[str, ...] | None:
    if value.parts is not None:
        inner = [_names(part, symbols=symbols) for part in value.parts]
        return None if None in inner else tuple(name for names in inner for name in names or ())
    if symbols and isinstance(value.static, Parameter | Member):
        return symbol_of(ast.Constant(None), value.static)
    if not isinstance(value.static, Constant):
        return None
    content = value.static.value
    names = content if isinstance(content, tuple) else (content,)
    return names if all(isinstance(n, str) for n in names) else None


def _is_whole(run: Run, groups: AbstractValue) -> bool:
    """Whether there are no groups, which a layer's setting says when nothing is told it, as a rule."""
    return groups.static == Constant(None) or (
        run.mode.unmapped and groups.parts is None and not isinstance(groups.static, Constant)
    )


def _index(run: Run, over: frozenset[str] | None) -> AbstractValue:
    if over is not None and None not in run.shadowed and not (over & run.axes):
        return AbstractValue(kind="array")  # of a vmap's axis, or of one that does not matter here
    sure = over is not None and None not in run.shadowed
    return AbstractValue(Level.YES if sure else Level.MAY, kind="array", marks=frozenset([INDEXED]))


def _reduced(
    run: Run, name: str, operand: AbstractValue, node: ast.Call | None, frame: Frame | None, full: bool, apart: bool
) -> AbstractValue:
    if full and run.axes and node is not None and frame is not None and not run.quiet() and name in REDUCTIONS:
        run.reading.reductions.append(Reduction(frame.module, node, name, operand))
        run.reductions += 1
    run.cleared += 1
    run.gathered += name in SHARED and full and operand.level == Level.YES and GIVEN in operand.marks
    run.reading.changed &= not operand.updated
    if not run.clearing:
        return mapped(operand, lambda v: replace(v, static=None, places=frozenset()))
    if apart:
        return mapped(operand, lambda v: replace(v, static=None, places=frozenset()))
    if not full or not run.axes:
        return mapped(operand, _partly)
    if name in SCALING and node is not None and run.mode.lenient:
        marks = [means.sum_of_means(node, gradients=gradients) for gradients in (False, True)]
        marks_of = _marks_of_sum if name == "jax.lax.psum" else _marks_of_mean
        if name == "jax.lax.psum":
            means.enlarge(run, operand)
        kept = order.of_reduction
        return mapped(operand, lambda v: replace(_cleared(v), marks=marks_of(v, marks[v.gradient]) | kept(v)))
    if name == GATHERS and operand.level == Level.YES and run.mode.lenient:
        return mapped(operand, lambda v: replace(_cleared(v), marks=frozenset([GATHERED])))
    return mapped(operand, _cleared)


def _cleared(value: AbstractValue) -> AbstractValue:
    """Equal on all devices; what it is made of stays."""
    return AbstractValue(
        parts=value.parts,
        fields=value.fields,
        kind=value.kind,
        reduced=True,
        host=value.host,
        level=Level.MAY if value.host else Level.NO,
    )


def _marks_of_sum(value: AbstractValue, mark: str) -> frozenset[str]:
    if value.static == Constant(1):
        return frozenset([DEVICES])
    told = MEAN in value.marks or value.gradient or (value.level == Level.NO and GIVEN in value.marks)
    totals = frozenset([AS_SUMMED, TOTALS] if TOTAL in value.marks else [AS_SUMMED])
    return totals | _number(value) | {mark} if told else totals | _number(value)


def _marks_of_mean(value: AbstractValue, mark: str) -> frozenset[str]:
    averaged = frozenset([AVERAGED, MEAN_TOTAL] if TOTAL in value.marks and value.level != Level.NO else [AVERAGED])
    averaged |= means.of_too_large(value) | _number(value)
    return averaged | {mark} if SHARE in value.marks else averaged


def _number(value: AbstractValue) -> frozenset[str]:
    return frozenset() if value.gradient or value.marks.isdisjoint((MEAN, TOTAL, NUMBER)) else frozenset([NUMBER])


def _partly(value: AbstractValue) -> AbstractValue:
    """Reduced over some of the devices, or over axes that are not known."""
    level = min(value.level, Level.MAY)
    return replace(
        value, level=level, gradient=False, updated=False, static=None, places=frozenset(), marks=value.marks & {GIVEN}
    )


def _spread(operand: AbstractValue, apart: bool) -> AbstractValue:
    """Sent from one device to another: the same for all only over another axis."""
    if apart:
        return mapped(operand, lambda v: replace(v, static=None))
    kept = mapped(operand, lambda v: replace(v, level=max(v.level, Level.MAY), static=None, reduced=False))
    return replace(kept, gradient=False)
