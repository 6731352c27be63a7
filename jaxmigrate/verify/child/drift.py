"""What the differences of many calls add up to along the argument that a result takes the place of.

A decay that one side has and the other has not may be as small as the last place of what is decayed: in one call that
is rounding. Rounding has either sign, though, while a decay pulls every number of every call the same way. How far
rounding pulls is seen in the run of the original with moved arguments, and is never less than two last digits make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Array = Any

# Fewer numbers than this say too little of how far rounding pulls.
_FEWEST = 8
# Large arrays are looked at in so many groups of numbers.
_MOST_GROUPS = 1 << 12
# The deviation of the difference of two numbers that were each rounded to the nearest, in last places.
_ROUNDED = 6**-0.5
# What a constant may be off by when it is rounded itself, in last places of the argument.
_CONSTANT = 0.25
# As much as this many deviations of what the other run shows is no chance.
_DEVIATIONS = 12.0


class Trend(NamedTuple):
    """What one call adds: `total` along the argument, of which `allowed` may come of rounded constants.

    `variance` is what rounding each number once makes of it, and `moved` the same as `total` for groups of numbers, by
    the run with moved arguments.
    """

    total: float
    allowed: float
    variance: float
    moved: Array


def trend(apart: Array, moved: Array, along: Array, sizes: Array, eps: float) -> Trend | None:
    """What the differences of a call add up to; None if there are too few, or some are no numbers.

    `apart` is by how much the steps of both sides differ, `moved` by how much those of the original and of its run with
    moved arguments do, `along` the argument, and `sizes` how large the numbers are that are rounded.
    """
    if apart.size < _FEWEST or apart.dtype.kind == "c":
        return None
    if not all(np.isfinite(numbers).all() for numbers in (apart, moved, along, sizes)):
        return None
    return Trend(
        float(np.sum(apart * along)),
        _CONSTANT * eps * float(np.sum(np.square(along))),
        float(np.sum(np.square(_ROUNDED * eps * sizes * along))),
        _in_groups((moved * along).reshape(-1)),
    )


def drifts(calls: Sequence[Trend]) -> bool:
    """Whether the differences of all calls together are more than rounding makes."""
    groups = np.sum([one.moved for one in calls], axis=0)
    # What moves all groups the same way there is no chance either, beyond three deviations.
    seen = max(float(np.sqrt(np.sum(np.square(groups)))), abs(float(np.sum(groups))) / 3)
    chance = max(seen, float(np.sqrt(sum(one.variance for one in calls))))
    return abs(sum(one.total for one in calls)) > sum(one.allowed for one in calls) + _DEVIATIONS * chance


def _in_groups(numbers: Array) -> Array:
    """The sums of neighbouring numbers, so many that they are no burden."""
    size = -(-numbers.size // _MOST_GROUPS)
    padded = np.zeros(-(-numbers.size // size) * size)
    padded[: numbers.size] = numbers
    return padded.reshape(-1, size).sum(1)
