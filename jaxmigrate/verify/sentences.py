"""How one difference is told: the place, the numbers there, how far they are apart, and how far they may be."""

from __future__ import annotations

from jaxmigrate.verify.comparison import ROWS, Delta
from jaxmigrate.verify.layouts import Layout
from jaxmigrate.verify.model import LeafError


def sentence(delta: Delta, kind: str, error: LeafError | None, call: int, inputs_equal: bool | None) -> str:
    """What is said of one difference: where it is, what it is, and from which arguments."""
    leaf = {"input": "argument", "output": "result", "call": ""}[delta.where] + (f" {delta.path}" if delta.path else "")
    place = f"call {call}, {leaf.strip()}" if leaf else f"call {call}"
    layout = f" ({delta.layout.value})" if delta.layout not in (None, Layout.SAME) else ""
    equal = _GIVEN[inputs_equal] if delta.where == "output" else ""
    return f"{place}{layout}: {_what(delta, kind, error)}{equal}"


# What is said of a result by whether the arguments were the same.
_GIVEN = {
    True: ", from equal arguments",
    False: "",
    None: ", but not all arguments could be compared",
}


def _what(delta: Delta, kind: str, error: LeafError | None) -> str:
    numbers = _numbers(delta, kind, error)
    if not delta.detail:
        return numbers
    told = error is not None and (error.different_elements or kind == ROWS)
    return f"{delta.detail}; {numbers}" if told else delta.detail


def _numbers(delta: Delta, kind: str, error: LeafError | None) -> str:
    if kind == ROWS and error is not None and error.within:
        return "the rows that both have are equal, but nothing printed shows that the others are not read"
    if error is None:
        both = f"{delta.original} in the original, {delta.rewritten} rewritten"
        return "not bitwise equal" if kind == "value" else both
    index = f" at {list(error.index)}" if error.index else ""
    numbers = f"{error.original} in the original, {error.rewritten} rewritten{index}"
    if kind == "nan":
        return f"{numbers} (NaN {error.nan_original} times in the original, {error.nan_rewritten} times rewritten)"
    if not error.different_elements:
        return "the same numbers in other bits (zeros' signs or NaN payloads)"
    dtypes = f"{delta.original} in the original, {delta.rewritten} rewritten; " if kind == "dtype" else ""
    far = f"{dtypes}{error.different_elements} of {error.elements} numbers differ, the farthest {numbers}"
    if error.over_calls:
        return f"{far}; within rounding in each call, but the error adds up over the calls"
    if error.bias:
        return f"{far}; each is within rounding, all together are not"
    if error.bound is None or error.within or kind == "dtype":
        return far
    step = " of the update" if error.step else ""
    return f"{far}: error {error.error:.3g}, rounding{step} allows {error.bound:.3g}"
