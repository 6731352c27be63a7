"""Compares pairs of recorded arrays number by number; run as `python -m jaxmigrate_child.errors` over JSON.

It measures how far the rewritten leaf is from the original one, where it is farthest, and whether the difference has
a shape that gives its cause away: a constant factor, one slice everywhere, slices in another order, a reduction.
"""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

import numpy as np

from . import rounding
from .drift import drifts

Array = Any
# In which file an array is, where its bytes begin, and how many there are.
Stored = tuple[str, int, int]


class Pair(NamedTuple):
    """Both sides of a leaf as numbers: `wide` in double precision, `raw` as they were recorded."""

    raw_a: Array
    raw_b: Array
    a: Array
    b: Array


def main() -> None:
    """Answer the question on standard input on standard output."""
    question = json.load(sys.stdin)
    with np.errstate(all="ignore"):
        found = [compare_files(pair, question["devices"]) for pair in question["pairs"]]
        _judge_together(question["pairs"], found)
        _judge_over_calls(question["pairs"], found)
        json.dump(found, sys.stdout)


def _judge_together(pairs: list[dict[str, Any]], found: list[dict[str, Any]]) -> None:
    """Call results biased that are so only all together, as the parameters of a small network may be."""
    sums = [answer.pop("sums") for answer in found]
    calls: dict[str, list[int]] = {}
    for number, (pair, own) in enumerate(zip(pairs, sums)):  # noqa: B905 - Python 3.9 has no strict
        if own:
            calls.setdefault(pair["call"], []).append(number)
    for numbers in calls.values():
        name = rounding.bias([one for number in numbers for one in sums[number]])
        if name and all(found[number]["within"] for number in numbers):
            for number in numbers:
                found[number].update(within=False, bias=name, bound=None)


def _judge_over_calls(pairs: list[dict[str, Any]], found: list[dict[str, Any]]) -> None:
    """Call a result biased that is near enough in every call, and drifts along its argument from call to call."""
    trends = [answer.pop("trend") for answer in found]
    series: dict[str, list[int]] = {}
    for number, pair in enumerate(pairs):
        series.setdefault(pair["series"], []).append(number)
    for numbers in series.values():
        told = [trends[number] for number in numbers if trends[number] is not None]
        if told and all(found[number]["within"] for number in numbers) and drifts(told):
            for number in numbers:
                found[number].update(within=False, bias="argument", bound=None, over_calls=True)


def compare_files(pair: dict[str, Any], devices: int) -> dict[str, Any]:
    """The fields of a LeafError for two files of raw bytes."""
    dtype, shape = pair["original_dtype"], pair["shape"]
    a = load(pair["original"], dtype, shape)
    b = _laid_out(load(pair["rewritten"], pair["rewritten_dtype"], pair["rewritten_shape"]), pair["layout"], a)
    before, nudged, nudged_before = (
        _wide(load(pair[name], dtype, shape)) if pair.get(name) else None
        for name in ("before", "nudged", "nudged_before")
    )
    if pair["layout"] == _PADDED:
        a, b, nudged = _rows_of_both(a, b, nudged)
        before = nudged_before = None
    before_b = before
    if pair.get("rewritten_before"):
        theirs = load(pair["rewritten_before"], pair["rewritten_dtype"], pair["rewritten_before_shape"])
        before_b = _wide(_laid_out(theirs, pair["before_layout"], a))
    same = before is not None and before_b is not None and bool(np.array_equal(before, before_b, equal_nan=True))
    inputs_equal = pair.get("inputs_equal", False) or same
    beside = Beside(before, before_b, nudged, nudged_before, inputs_equal, pair.get("of_equal", False))
    found = compare(a, b, pair["rtol"], pair["atol"], devices, Beside() if pair.get("given") else beside)
    if before is not None and before_b is not None and not found["within"]:
        step, step_b = _wide(a) - before, _wide(b) - before_b
        found["update_factor"] = _update_factor(step, step_b, devices)
    return found


def _laid_out(array: Array, layout: str, like: Array) -> Array:
    """The array in the layout of the original."""
    if layout == _PADDED:
        return array.reshape(-1, *like.shape[2:])
    if layout in ("replicated", "split, where the original has all blocks on every device"):
        return np.broadcast_to(array.reshape(like.shape[1:]), like.shape)
    if layout == "split along another axis":
        first = like.shape[0]
        for axis in range(1, array.ndim):
            if array.shape == (*like.shape[1 : axis + 1], first * like.shape[axis + 1], *like.shape[axis + 2 :]):
                return np.moveaxis(array.reshape(*array.shape[:axis], first, -1, *array.shape[axis + 1 :]), axis, 0)
    return array.reshape(like.shape)


_PADDED = "split, with another batch size"


def _rows_of_both(a: Array, b: Array, nudged: Array | None) -> tuple[Array, Array, Array | None]:
    """The rows that both sides have, of the original's slices one after the other."""
    rows = a.reshape(-1, *a.shape[2:])
    count = min(len(rows), len(b))
    return rows[:count], b[:count], nudged.reshape(rows.shape)[:count] if nudged is not None else None


def load(stored: Stored, dtype: str, shape: list[int]) -> Array:
    """The array that is stored as row-major bytes.

    Of keys it is their data, with one more axis; of an array that other processes hold a part of, it is flat.
    """
    path, start, size = stored
    kind = np.dtype(np.uint32) if dtype.startswith("key<") else _dtype(dtype)
    numbers = np.fromfile(path, kind, size // kind.itemsize, offset=start)
    if dtype.startswith("key<"):
        return numbers.reshape([*shape, -1])
    return numbers.reshape(shape) if numbers.size == np.prod(shape, dtype=int) else numbers


def _dtype(name: str) -> Any:
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


class Beside(NamedTuple):
    """What else is known of a leaf, each part of which may be missing; `rounding.Known` says what it is."""

    before: Array | None = None
    before_b: Array | None = None
    nudged: Array | None = None
    nudged_before: Array | None = None
    inputs_equal: bool = False
    of_equal: bool = False


_NOTHING_BESIDE = Beside()


def compare(
    raw_a: Array, raw_b: Array, rtol: float, atol: float, devices: int, beside: Beside = _NOTHING_BESIDE
) -> dict[str, Any]:
    """The fields of a LeafError; both arrays have the same shape and may have different dtypes."""
    pair = Pair(raw_a, raw_b, _wide(raw_a), _wide(raw_b))
    distance = _distance(pair)
    nan_a, nan_b = np.isnan(pair.a), np.isnan(pair.b)
    mismatch = nan_a != nan_b
    answer = _judged(pair, distance, rtol, atol, beside)
    within = answer.within and not mismatch.any()
    worst = int(np.argmax(distance)) if distance.size else 0
    if mismatch.any():
        worst = int(np.argmax(mismatch))
    elif not within and not answer.bias:
        worst = answer.position
    factor = None if within else _factor(pair, rtol, devices)
    return {
        "absolute": float(distance.max(initial=0.0)),
        "relative": float(_relative(pair, distance).max(initial=0.0)),
        "ulp": float(_ulps(raw_a, raw_b).max(initial=0)),
        "index": [int(part) for part in np.unravel_index(worst, distance.shape)] if distance.size else [],
        "original": _shown(raw_a, worst),
        "rewritten": _shown(raw_b, worst),
        "within": bool(within),
        "different_elements": int(np.count_nonzero((distance > 0) | mismatch)),
        "elements": int(distance.size),
        "nan_original": int(nan_a.sum()),
        "nan_rewritten": int(nan_b.sum()),
        "nan_mismatch": bool(mismatch.any()),
        "bound": answer.bound if not mismatch.any() and not answer.bias else None,
        "error": float(distance.reshape(-1)[worst]) if distance.size else 0.0,
        "bias": answer.bias,
        "own": answer.own,
        "used": answer.used,
        "step": beside.before is not None,
        "reduced": "" if within else _reduced(pair),
        "sums": answer.sums,
        "trend": answer.trend,
        "factor": factor,
        "pattern": "" if within or factor is not None else _pattern(pair, rtol) or _precision(pair, distance),
    }


def _wide(array: Array) -> Array:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    # Wider than double, where the machine has it: 64-bit integers keep all their digits.
    return array.astype(np.longdouble if array.dtype.kind in "iu" and array.dtype.itemsize == 8 else np.float64)


def _distance(pair: Pair) -> Array:
    equal = (pair.a == pair.b) | (np.isnan(pair.a) | np.isnan(pair.b))
    return np.where(equal, 0.0, np.abs(pair.b - pair.a))


def _relative(pair: Pair, distance: Array) -> Array:
    larger = np.maximum(np.abs(pair.a), np.abs(pair.b))
    ratio = np.divide(distance, larger, out=np.zeros(distance.shape), where=(larger > 0), casting="unsafe")
    return np.where(np.isinf(distance), np.inf, ratio)


def _judged(pair: Pair, distance: Array, rtol: float, atol: float, beside: Beside) -> rounding.Answer:
    """Whether the difference is one of rounding: by the run with moved arguments, or by a tolerance without one."""
    if not distance.size:
        return rounding.Answer(within=True, position=0, bound=0.0, bias="", own=0.0)
    if beside.nudged is not None:
        eps = 0.0 if _is_exact(pair.raw_a) else _eps(pair.raw_a.dtype)
        known = rounding.Known(pair.a, pair.b, *beside[:4], eps, beside.inputs_equal, beside.of_equal)
        finite = np.isfinite(pair.a) & np.isfinite(pair.b)
        same = rounding.judge(known._replace(a=np.where(finite, pair.a, 0.0), b=np.where(finite, pair.b, 0.0)))
        infinite = np.isinf(distance)
        return same._replace(within=False, position=int(np.argmax(infinite))) if infinite.any() else same
    if _is_exact(pair.raw_a) or _is_exact(pair.raw_b):
        bound = np.zeros(distance.shape)
    elif beside.before is not None and beside.before_b is not None:
        step, step_b = pair.a - beside.before, pair.b - beside.before_b
        distance = np.abs(step_b - step)
        larger = np.maximum(np.abs(step), np.abs(step_b))
        last_places = 2 * _eps(pair.raw_a.dtype) * np.maximum(np.abs(pair.a), np.abs(beside.before))
        bound = atol + rtol * (larger + _typical(step)) + last_places
    else:
        larger = np.maximum(np.abs(pair.a), np.abs(pair.b))
        bound = atol + rtol * (larger + _typical(pair.a))
    over = np.where((distance > bound) | np.isinf(distance), distance - bound, -np.inf)
    over = np.where(np.isnan(distance), -np.inf, over)
    worst = int(np.argmax(over))
    return rounding.Answer(bool(over.max() <= 0), worst, float(bound.reshape(-1)[worst]), "", 0.0)


def _eps(dtype: Any) -> float:
    """The distance from 1 to the next number of a dtype."""
    finfo: Any = np.finfo
    if dtype.name not in ("float16", "float32", "float64", "complex64", "complex128", "longdouble"):
        import ml_dtypes

        finfo = ml_dtypes.finfo
    return float(finfo(dtype).eps)


def _is_exact(array: Array) -> bool:
    return array.dtype.kind in "iub" or array.dtype.name.lstrip("u").startswith("int")


def _typical(values: Array) -> float:
    """The median magnitude of the numbers that are neither zero nor infinite."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(np.median(sizes)) if sizes.size else 0.0


def _ulps(a: Array, b: Array) -> Array:
    """How many representable numbers lie between each two numbers; nothing for arrays of different dtypes."""
    if a.dtype != b.dtype or not a.size:
        return np.zeros(0)
    if _is_exact(a):
        return np.abs(_wide(a) - _wide(b))
    unit = a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1)
    apart = np.abs(_ordered(a, unit) - _ordered(b, unit))
    parts = (-1, 2) if a.dtype.kind == "c" else (-1, 1)
    unknown = np.isnan(_wide(a)) | np.isnan(_wide(b))
    return np.where(unknown.reshape(-1, 1), 0, apart.reshape(parts))


def _ordered(array: Array, unit: int) -> Array:
    """The numbers' bits as numbers that count up from the smallest float to the largest."""
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{unit}")
    sign = bits >> np.array(8 * unit - 1, bits.dtype)
    magnitude = (bits & np.array((1 << (8 * unit - 1)) - 1, bits.dtype)).astype(np.longdouble)
    return np.where(sign.astype(bool), -magnitude, magnitude)


def _shown(array: Array, position: int) -> str:
    if not array.size:
        return ""
    return str(array.reshape(-1)[position])


def _factor(pair: Pair, rtol: float, devices: int) -> float | None:
    """The constant c with rewritten = c * original, where there is one; None if it is 1 or there are no numbers."""
    usable = np.isfinite(pair.a) & np.isfinite(pair.b) & (pair.a != 0)
    if not usable.any() or pair.a.dtype.kind == "c":
        return None
    factor = float(np.median((pair.b[usable] / pair.a[usable]).astype(np.float64)))
    known = known_factor(factor, devices, 100 * rtol)
    expected = pair.a * (known or factor)
    slack = 100 * rtol * (np.abs(expected) + _typical(expected))
    both_finite = np.isfinite(pair.a) & np.isfinite(pair.b)
    if factor == 0 or not np.all(np.abs(pair.b - expected)[both_finite] <= slack[both_finite]):
        return None
    says_something = len(np.unique(pair.a[usable])) > 1 and abs(factor - 1) > 100 * rtol
    return known or (factor if says_something else None)


def _update_factor(moved: Array, moved_too: Array, devices: int) -> float | None:
    """The known factor by which the rewritten leaf moved farther than the original, if any; 0 if it did not move."""
    largest = np.abs(moved).max(initial=0.0)
    if largest > 0 and not np.any(moved_too):
        return 0.0
    if moved.dtype.kind == "c" or not largest > 0 or not np.isfinite(moved).all() or not np.isfinite(moved_too).all():
        return None
    # A difference of two nearly equal numbers has lost its last digits.
    clear = np.abs(moved) > 1e-2 * largest
    factor = known_factor(float(np.median((moved_too[clear] / moved[clear]).astype(np.float64))), devices, 1e-2)
    if factor is None or np.any(np.abs(moved_too - factor * moved)[clear] > 2e-2 * np.abs(factor * moved)[clear]):
        return None
    return factor


def known_factor(factor: float, devices: int, rtol: float) -> float | None:
    """The exact factor that `factor` is near to, among those that a wrong number of reductions brings about."""
    whole = {float(devices) ** power for power in (-2, -1, 1, 2)} | {-1.0} if devices > 1 else {-1.0}
    near = [number for number in sorted(whole) if abs(factor - number) <= max(rtol, 1e-4) * abs(number)]
    return near[0] if near else None


def _pattern(pair: Pair, rtol: float) -> str:
    """How the slices along the leading axis explain the difference; empty where they do not."""
    a, b = pair.a, pair.b
    if a.ndim == 0 or a.shape[0] < 2 or a[0].size == 0 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return ""
    for name, expected in _explanations(a, b):
        if name and np.all(np.abs(expected) <= 100 * rtol * (np.abs(a) + np.abs(b) + _typical(a))):
            return name
    if _is_permuted(pair.raw_a, pair.raw_b):
        return "permuted"
    rows = [raw.reshape(-1, *raw.shape[2:]) for raw in (pair.raw_a, pair.raw_b)] if a.ndim > 1 else []
    return "rows permuted" if rows and _is_permuted(rows[0], rows[1]) else ""


# Half a unit in bfloat16's last place, and what adds up of it, as a part of a number.
_BFLOAT16_ROUNDS = (2.0**-11, 2.0**-6)
# How far that may have grown in what is computed further.
_BFLOAT16_APART = 2.0**-5


def _precision(pair: Pair, distance: Array) -> str:
    """Whether float32 numbers differ as bfloat16 makes them: by having no more digits, or by how far they are apart.

    Whole numbers have few digits as well: those of another precision are near the others.
    """
    differs = distance > 0
    if pair.raw_a.dtype != np.float32 or pair.raw_b.dtype != np.float32 or np.count_nonzero(differs) < 2:
        return ""
    coarse = [_is_coarse(raw[differs]) for raw in (pair.raw_a, pair.raw_b)]
    typical = float(np.median(_relative(pair, distance)[differs]))
    if coarse[0] != coarse[1]:
        return ("coarser" if coarse[1] else "finer") if typical < _BFLOAT16_APART else ""
    return "like bfloat16" if _BFLOAT16_ROUNDS[0] < typical < _BFLOAT16_ROUNDS[1] else ""


def _is_coarse(array: Array) -> bool:
    return not np.any(np.ascontiguousarray(array).view(np.uint32) & np.uint32(0xFFFF))


def _reduced(pair: Pair) -> str:
    """`mean` or `sum` where one side has that of the other's slices in every one of its own, but for rounding.

    It is the rewritten slices that are so reduced; `mean inside` and `sum inside` where it is the original's. Of slices
    that are all the same a sum is `unsure`: the other side may have any multiple of them.
    """
    a, b = pair.a, pair.b
    if a.ndim == 0 or a.shape[0] < 2 or a.dtype.kind == "c" or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return ""
    if pair.raw_a.dtype != pair.raw_b.dtype:
        return ""
    eps = 0.0 if _is_exact(pair.raw_a) else _eps(pair.raw_a.dtype)
    if not _varies(a):
        name = _reduction(a[0], b, eps)
        return name if _varies(b) or not name else "unsure"
    name = "" if _varies(b) else _reduction(b[0], a, eps)
    return f"{name} inside" if name else ""


def _reduction(reduced: Array, slices: Array, eps: float) -> str:
    """Whether numbers are the sum or the mean of slices."""
    sizes = np.abs(slices)
    for name, whole, size in (("sum", slices.sum(0), sizes.sum(0)), ("mean", slices.mean(0), sizes.mean(0))):
        if np.all(np.abs(reduced - whole) <= _REDUCING_ROUNDINGS * eps * size):
            return name
    return ""


_REDUCING_ROUNDINGS = 8.0


def _explanations(a: Array, b: Array) -> list[tuple[str, Array]]:
    """For each pattern, what is zero if the pattern holds; its name is empty where it would say nothing."""
    first, mean, total = a[:1], a.mean(0, keepdims=True), a.sum(0, keepdims=True)
    return [
        ("first" if _varies(a) else "", b - first),
        ("mean" if _varies(a) else "", b - mean),
        ("sum" if _varies(a) else "", b - total),
        ("mean lost" if _varies(b) else "", a - b.mean(0, keepdims=True)),
        ("sum lost" if _varies(b) else "", a - b.sum(0, keepdims=True)),
    ]


def _varies(array: Array) -> bool:
    return bool(np.any(array != array[:1]))


def _is_permuted(a: Array, b: Array) -> bool:
    rows_a = [row.tobytes() for row in a]
    rows_b = [row.tobytes() for row in b]
    return rows_a != rows_b and sorted(rows_a) == sorted(rows_b) and len(set(rows_a)) > 1


if __name__ == "__main__":
    main()
