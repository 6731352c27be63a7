"""Says whether two results differ by no more than rounding, measured on what rounding does to the program itself.

The yardstick is a run of the original whose arguments were moved by one rounding. What moves there by so much may
differ by a small multiple of it. Elements are not compared one by one, since another rounding hits other elements:
however far they are apart, at most twice as many may be as far apart as in that run. Where a result takes the place of
an argument, as the parameters do that a step returns, it is the step that is compared and not the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .drift import Trend, trend
from .shift import is_shifted

Array = Any

# How many times as far as in the run with moved arguments; single numbers are a poor sample.
_TIMES = 16.0
_TIMES_FEW = 64.0
_FEW = 16
# Roundings in the last place that are always allowed: of a result, of one of few numbers, of the sum that ends a step.
_LAST_PLACES = 4.0
_LAST_PLACES_FEW = 16.0
_LAST_PLACES_OF_STEP = 4.0
# A common factor may be off by so many roundings, and what adds up to more is no chance beyond so many deviations.
_COMMON_ROUNDINGS = 2.0
_DEVIATIONS = 6.0
_FEWEST_FOR_BIAS = 24


class Known(NamedTuple):
    """The numbers of one result: `a` of the original, `b` rewritten, with the arguments in whose place they stand.

    `nudged` is the original's with moved arguments, and `nudged_before` what stood in its place; each may be missing.
    `of_equal` says that it is an argument, and that all results before it were bitwise equal.
    """

    a: Array
    b: Array
    before: Array | None
    before_b: Array | None
    nudged: Array | None
    nudged_before: Array | None
    eps: float
    inputs_equal: bool
    of_equal: bool = False


_ARRAYS = ("a", "b", "before", "before_b", "nudged", "nudged_before")


class Sum(NamedTuple):
    """What some differences, `numbers` of them, add up to along the step or the argument, by its `name`.

    `allowed` is what rounding may make of it, and `chance` the deviation of what is left to that.
    """

    name: str
    numbers: int
    total: float
    allowed: float
    chance: float


class Answer(NamedTuple):
    """Whether it is rounding; if not, which element says so, what it was allowed, and whether all say it together.

    `own` is how far the program itself moves, as a part of what it computes. `trend` is what this call adds to the
    differences of all of them. `used` is the largest part that some element takes of what it is allowed.
    """

    within: bool
    position: int
    bound: float
    bias: str
    own: float
    sums: tuple[Sum, ...] = ()
    trend: Trend | None = None
    used: float = 0.0


def judge(known: Known) -> Answer:
    """Whether the results differ by no more than rounding; `known.nudged` is there."""
    known = _once(known)
    a, b, eps = known.a, known.b, known.eps
    few = a.size < _FEW
    times = _TIMES_FEW if few else _TIMES
    sizes = np.maximum(np.abs(a), np.abs(b))
    own = _own(known)
    if known.before is None or known.nudged_before is None:
        floor = (_LAST_PLACES_FEW if few else _LAST_PLACES) * eps * sizes
        answer = _spread(np.abs(b - a), np.abs(known.nudged - a), floor, times)._replace(own=own)
        shifted = answer.within and known.of_equal and is_shifted(a, b, known.nudged, eps)
        return answer._replace(within=False, bias="shift") if shifted else answer
    before_b = known.before if known.before_b is None else known.before_b
    floor = _LAST_PLACES_OF_STEP * eps * np.maximum(sizes, np.abs(known.before))
    step, step_b = a - known.before, b - before_b
    moved = (known.nudged - known.nudged_before) - step
    answer = _spread(np.abs(step_b - step), np.abs(moved), floor, times)
    if answer.within and not known.inputs_equal:
        # What has piled up over the calls.
        piled_up = _spread(np.abs(b - a), np.abs(known.nudged - a), floor, times)
        answer = piled_up._replace(used=max(piled_up.used, answer.used))
    if answer.within and known.inputs_equal:
        sums = _sums(step_b - step, moved, step, known)
        found = bias(sums)
        answer = answer._replace(within=not found, bias=found, sums=sums)
    if answer.within:
        along = known.before - _part(known.before, step)
        sizes = np.maximum(sizes, np.abs(known.before))
        answer = answer._replace(trend=trend(step_b - step, moved, along, sizes, eps))
    return answer._replace(own=own)


def _once(known: Known) -> Known:
    """Without the copies that devices have of the same: they would count as so many samples."""
    arrays = {name: array for name, array in known._asdict().items() if name in _ARRAYS and array is not None}
    if known.a.ndim == 0 or known.a.shape[0] < 2 or not all((array == array[:1]).all() for array in arrays.values()):
        return known
    first: dict[str, Any] = {name: array[0] for name, array in arrays.items()}
    return known._replace(**first)


def _own(known: Known) -> float:
    """How far the program moves by itself, as a part of the size of what it computes; of a step, of the step."""
    reference, moved, rounding = known.a, known.nudged - known.a, 0.0
    if known.before is not None and known.nudged_before is not None:
        reference, moved = known.a - known.before, (known.nudged - known.nudged_before) - (known.a - known.before)
        # A small step has no more digits than the sum that it ends in.
        rounding = _LAST_PLACES_OF_STEP * known.eps * _size(known.a)
    size, far = _size(reference), max(0.0, _size(moved) - rounding)
    return far / size if size and np.isfinite(far / size) else 0.0


def _size(numbers: Array) -> float:
    """How large numbers are, as the root of their mean square."""
    return float(np.sqrt(np.mean(np.square(np.abs(numbers))))) if numbers.size else 0.0


def _spread(apart: Array, moved: Array, floor: Array, times: float) -> Answer:
    """Whether distances are spread as those of the other run are: at most twice as many are as large."""
    apart, moved, floor = apart.reshape(-1), np.nan_to_num(moved.reshape(-1), posinf=0.0), floor.reshape(-1)
    excess = np.where(np.isfinite(apart), np.maximum(apart - floor, 0.0), np.inf)
    largest = np.flatnonzero(excess)
    if not largest.size:
        return Answer(within=True, position=0, bound=0.0, bias="", own=0.0, used=_used(apart, floor))
    largest = largest[np.argsort(-excess[largest], kind="stable")]
    ranked = -np.sort(-moved)
    allowed = times * ranked[np.maximum(0, (np.arange(largest.size) - 2) // 2)]
    over = excess[largest] - allowed
    worst = int(np.argmax(np.where(over > 0, over / (allowed + floor[largest] + np.finfo(float).tiny), -1.0)))
    position = int(largest[worst])
    return Answer(
        within=bool((over <= 0).all()),
        position=position,
        bound=float(floor[position] + allowed[worst]),
        bias="",
        own=0.0,
        used=max(_used(apart[largest], floor[largest] + allowed), _used(apart[excess == 0], floor[excess == 0])),
    )


def _used(apart: Array, allowed: Array) -> float:
    """The largest part that distances take of what is allowed."""
    some = apart > 0
    return float(np.max(apart[some] / (allowed[some] + np.finfo(float).tiny), initial=0.0))


def _sums(apart: Array, moved: Array, step: Array, known: Known) -> tuple[Sum, ...]:
    """How far what the sides differ by adds up to a part of the step, and of the argument.

    Roundings have either sign; what is left out of every step, or a constant that is another one, has always the same.
    A step may be off by a common factor, as far as rounding makes one; an argument has no part in that.
    """
    if apart.dtype.kind == "c" or not all(np.isfinite(numbers).all() for numbers in (apart, moved, step)):
        return ()
    assert known.before is not None
    alone = known.before - _part(known.before, step)
    left = apart - _part(apart, step)
    left = left - _part(left, alone)
    common = _COMMON_ROUNDINGS * _rounding_of(known) * float(np.sum(np.square(step)))
    spread = _COMMON_ROUNDINGS * known.eps * float(np.sum(np.abs(step * alone)))
    count = int(np.count_nonzero(apart))
    return tuple(
        Sum(
            name,
            count,
            float(np.sum(apart * along)),
            allowed,
            float(np.sqrt(np.sum(np.square(apart * along)))) * _bound_together(left * along),
        )
        for name, along, allowed in (("step", step, common), ("argument", alone, spread))
    )


def bias(sums: Sequence[Sum]) -> str:
    """`step` or `argument` where sums over one or several results, taken together, are no chance; else nothing."""
    for name in ("step", "argument"):
        own = [one for one in sums if one.name == name]
        total = abs(sum(one.total for one in own))
        chance = float(np.sqrt(sum(one.chance**2 for one in own)))
        enough = sum(one.numbers for one in own) >= _FEWEST_FOR_BIAS
        if enough and total > sum(one.allowed for one in own) + _DEVIATIONS * chance:
            return name
    return ""


def _part(numbers: Array, along: Array) -> Array:
    """The part of some numbers that is a multiple of others."""
    size = float(np.sum(np.square(along)))
    return along * (float(np.sum(numbers * along)) / size) if size else np.zeros_like(numbers)


def _rounding_of(known: Known) -> float:
    """How far the arguments were moved, as a part of each, which is how the program rounds."""
    assert known.before is not None
    assert known.nudged_before is not None
    moved = known.nudged_before - known.before
    where = (moved != 0) & (known.before != 0)
    if not where.any():
        return known.eps
    return max(known.eps, float(np.median(np.abs(moved[where] / known.before[where]))))


def _bound_together(left: Array) -> float:
    """By how much numbers deviate more together than one by one, as roundings that rows or columns share do."""
    alone = float(np.sum(np.square(left)))
    if not alone:
        return 1.0
    sums = [float(np.sum(np.square(left.sum(axis)))) for axis in range(left.ndim)]
    return max(1.0, float(np.sqrt(max(sums, default=0.0) / alone)))
