"""What usually lies behind a difference of a certain shape: said as a hint, never as a finding."""

from __future__ import annotations

import math

from jaxmigrate.verify.comparison import Delta
from jaxmigrate.verify.model import LeafError

_PATTERNS = {
    "first": "every slice is the original's first one: an output that varies over the axis was declared replicated "
    "(`P()` in out_specs, or out_axes=None), which keeps device 0's value",
    "mean": "every slice is the mean of the original's slices: one pmean too many",
    "sum": "every slice is the sum of the original's slices: one psum too many",
    "mean lost": "the original's slices are the mean of the rewritten ones: a pmean was lost",
    "sum lost": "the original's slices are the sum of the rewritten ones: a psum was lost",
    "permuted": "the slices are the original's in another order: the devices of the mesh are in another order, or "
    "all_gather, all_to_all or ppermute sees another layout",
    "rows permuted": "the rows are the original's in another order: the devices get other rows of the batch",
}

# What patterns say of an argument: only where every device got another part of the same.
_OF_ARGUMENTS = {
    "first": "every device gets what the original gives to device 0: look for a P() that should split, or a [0]",
    "permuted": "the slices are in another order: each device gets another device's slice",
    "rows permuted": _PATTERNS["rows permuted"],
}
_OF_KEYS = {
    "first": (
        "every device has device 0's key, so noise and dropout are the same on all: split the key, or fold "
        "axis_index into it"
    ),
    "permuted": "the devices have each other's keys: they are shifted, or in another order",
}
_PRECISIONS = {
    "coarser": "the rewritten numbers have no more digits than bfloat16 holds: they passed through a lower precision",
    "finer": "the original's numbers have no more digits than bfloat16 holds, the rewritten ones have: a cast was lost",
    "like bfloat16": "the numbers differ by as much as bfloat16 rounds: part of it is computed in another precision",
}
_COPIES = (
    "a result that varies over the axis was declared replicated (`P()` in out_specs under check_vma=False): each "
    "device keeps its own value, and a reader sees only the first; reduce it, or name the axis in its spec"
)


def hint(delta: Delta, error: LeafError | None, inputs_equal: bool | None, devices: int, coarse: bool = True) -> str:
    """The usual cause of one difference, or nothing; `coarse` says that some of it is computed in few bits."""
    if delta.kind == "shape":
        return _shape_hint(delta)
    if delta.kind == "dtype":
        return "the arithmetic runs at another precision; look for a cast, or a scalar that became an array"
    if delta.kind == "exception":
        return ""
    if delta.kind == "replicas":
        return _COPIES
    if error is not None and error.nan_mismatch:
        return _nan_hint(error)
    text = _number_hint(delta, error, devices, coarse) if error is not None else ""
    if inputs_equal is False and delta.where == "output":
        return _join(text, "the arguments of this call differed already: look at what is computed before it")
    return text


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _number_hint(delta: Delta, error: LeafError, devices: int, coarse: bool) -> str:
    if error.within:
        return ""
    if error.factor is not None:
        return factor_hint("the argument" if delta.where == "input" else "the result", error.factor, devices)
    if error.update_factor == 0:
        return "the argument comes back unchanged: what the call computes is lost"
    if error.bias == "shift":
        return (
            "all numbers are off by about the same amount, though all earlier results are bitwise equal: code outside "
            "the mapped functions computes something else, for example with another constant"
        )
    if error.bias:
        what = "the update" if error.bias == "step" else "the argument"
        return f"taken together, the numbers are off by a fraction of {what}, not by rounding: some constant differs"
    if error.update_factor is not None:
        return factor_hint("the update (result minus argument)", error.update_factor, devices)
    if delta.where == "input":
        return (_OF_KEYS if _is_key(delta.original) else _OF_ARGUMENTS).get(error.pattern, "")
    if error.pattern == "like bfloat16" and (error.step or not coarse):
        # A step is a small part of what it ends in, as a rounding to few bits is.
        return ""
    return _PATTERNS.get(error.pattern, "") or _PRECISIONS.get(error.pattern, "")


def _is_key(described: str) -> bool:
    """Whether an array holds random keys, by its dtype, or as pairs of 32 bits."""
    return described.startswith("key<") or (described.startswith("uint32[") and described.endswith(",2]"))


def factor_hint(what: str, factor: float, devices: int) -> str:
    """The usual cause of something that is a constant number of times too large or too small."""
    if factor == devices:
        cause = (
            "summed once too often: psum in place of pmean, a gradient through replicated parameters under "
            "check_vma=True, or a replicate() left over in front of a `P()` argument"
        )
    elif math.isclose(factor, 1 / devices):
        cause = "divided once too often, or a psum was lost: pmean in place of psum, or a mean that was one already"
    elif factor == devices**2:
        cause = "summed twice too often: psum of gradients through replicated parameters under check_vma=True"
    elif math.isclose(factor, 1 / devices**2):
        cause = "divided twice too often, or two sums were lost"
    elif factor == -1:
        return f"{what} has the other sign"
    else:
        return f"{what} is {factor:.6g} times the original's"
    times = f"{factor:g} times" if factor > 1 else f"1/{round(1 / factor)} of"
    return f"{what} is {times} the original's, on {devices} devices: {cause}"


def _nan_hint(error: LeafError) -> str:
    if error.nan_rewritten > error.nan_original:
        return "NaN where the original has numbers: a division by a count that became 0, or a masked branch now taken"
    return "numbers where the original has NaN: rows or a branch that the original computed are now left out"


def _shape_hint(delta: Delta) -> str:
    ours, theirs = _dimensions(delta.original), _dimensions(delta.rewritten)
    if len(theirs) > 1 and len(ours) == len(theirs) + 1 and ours[2:] == theirs[1:]:
        rows = int(ours[0]) * int(ours[1])
        return f"{rows} rows in the original, {theirs[0]} rewritten: a batch is cut or padded in another way"
    if len(ours) == len(theirs) + 1:
        return "an axis is gone"
    if len(theirs) == len(ours) + 1:
        return "there is one more axis: the block keeps its mapped axis, which pmap removes; squeeze it"
    return ""


def _dimensions(described: str) -> list[str]:
    inner = described.partition("[")[2].rstrip("]")
    return inner.split(",") if inner else []
