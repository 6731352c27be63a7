"""Has pairs of arrays compared number by number, by the interpreter that the program itself ran in.

jaxmigrate may be installed where there is no NumPy; the program's interpreter has it, with ml_dtypes besides.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jaxmigrate.verify.align import replaced_by
from jaxmigrate.verify.comparison import MEASURED, CallPair, Delta
from jaxmigrate.verify.layouts import Layout, layout_of
from jaxmigrate.verify.model import DEFAULT_TOLERANCES, LeafError, Tolerance, VerifyError
from jaxmigrate.verify.recording import Call, Leaf, Stored


@dataclass(frozen=True)
class ArrayPair:
    """One leaf on both sides: where its bytes are, and how to read them.

    `rewritten_shape` and `layout` say how to bring the rewritten leaf to `shape`, the original's. `call` names the
    call, and `series` the leaf in all calls. `before` is the argument that the leaf replaces, and `rewritten_before`
    the same of the other side. `nudged` is the leaf of the run of the original whose arguments were moved by one
    rounding, and `nudged_before` what it replaces there. The `tolerance` is the user's own if it is `given`; else it
    takes the place of such a run where there was none.
    """

    original: Stored
    rewritten: Stored
    original_dtype: str
    rewritten_dtype: str
    shape: tuple[int, ...]
    rewritten_shape: tuple[int, ...]
    layout: str
    tolerance: Tolerance
    given: bool = False
    call: str = ""
    series: str = ""
    inputs_equal: bool = False
    of_equal: bool = False
    before: Stored | None = None
    rewritten_before: Stored | None = None
    before_layout: str = ""
    rewritten_before_shape: tuple[int, ...] = ()
    nudged: Stored | None = None
    nudged_before: Stored | None = None


def array_pair(
    pair: CallPair, delta: Delta, tolerances: Mapping[str, Tolerance], nudged: Call | None = None
) -> ArrayPair | None:
    """Where both sides have left the bytes of a leaf that differs; None if one of them has not.

    `nudged` is the same call of the original with its arguments moved by one rounding.
    """
    ours, theirs = (
        (call.inputs if delta.where == "input" else call.outputs) for call in (pair.original, pair.rewritten)
    )
    if ours is None or theirs is None or delta.leaf is None or delta.other is None:
        return None
    files = ours.array(delta.leaf), theirs.array(delta.other)
    if files[0] is None or files[1] is None or delta.layout is None or delta.kind not in MEASURED:
        return None
    # Which device has which part is not on disk.
    if delta.layout is Layout.PARTLY:
        return None
    leaf, other = ours.signature.leaves[delta.leaf], theirs.signature.leaves[delta.other]
    given = is_given(leaf.dtype, tolerances)
    found = ArrayPair(
        original=files[0],
        rewritten=files[1],
        original_dtype=leaf.dtype,
        rewritten_dtype=other.dtype,
        shape=leaf.shape,
        rewritten_shape=other.shape,
        layout=delta.layout.value,
        tolerance=tolerance_of(leaf.dtype, tolerances if given else DEFAULT_TOLERANCES),
        given=given,
        call=repr(pair.key),
        series=repr((pair.key._replace(number=0), delta.where, delta.leaf)),
        inputs_equal=pair.inputs_equal is True,
    )
    found = replace(found, nudged=_nudged(nudged, delta, leaf))
    return _with_before(found, pair, delta, nudged) if delta.where == "output" else found


def _nudged(call: Call | None, delta: Delta, leaf: Leaf) -> Stored | None:
    """The leaf of the call whose arguments were moved, where it is the same kind of leaf."""
    values = (call.inputs if delta.where == "input" else call.outputs) if call is not None else None
    if values is None or delta.leaf is None or delta.leaf >= len(values.signature.leaves):
        return None
    other = values.signature.leaves[delta.leaf]
    return values.array(delta.leaf) if (other.dtype, other.shape) == (leaf.dtype, leaf.shape) else None


def _with_before(found: ArrayPair, pair: CallPair, delta: Delta, nudged: Call | None) -> ArrayPair:
    """With what the result replaces on each side."""
    inputs, others = pair.original.inputs, pair.rewritten.inputs
    assert pair.original.outputs is not None
    assert delta.leaf is not None
    number = replaced_by(pair.original.outputs.signature.leaves[delta.leaf], inputs) if inputs is not None else None
    if inputs is None or number is None or (before := inputs.array(number)) is None:
        return found
    moved = nudged.inputs.array(number) if nudged is not None and nudged.inputs is not None else None
    found = replace(found, before=before, nudged_before=moved)
    if pair.inputs_equal or others is None or pair.rewritten.outputs is None or delta.other is None:
        return found
    theirs = replaced_by(pair.rewritten.outputs.signature.leaves[delta.other], others)
    leaf = others.signature.leaves[theirs] if theirs is not None else None
    layout = layout_of(found.shape, leaf.shape, merged=True) if leaf is not None else None
    if theirs is None or leaf is None or layout in (None, Layout.PARTLY) or others.array(theirs) is None:
        return replace(found, before=None, nudged_before=None)
    return replace(
        found,
        rewritten_before=others.array(theirs),
        before_layout=layout.value,
        rewritten_before_shape=leaf.shape,
    )


def is_given(dtype: str, tolerances: Mapping[str, Tolerance]) -> bool:
    """Whether the user has given a tolerance for a dtype."""
    return any(dtype.startswith(name) for name in tolerances)


def tolerance_of(dtype: str, tolerances: Mapping[str, Tolerance]) -> Tolerance:
    """The tolerance for a dtype: its own, else that of the longest beginning of its name; integers have none."""
    names = [name for name in tolerances if dtype.startswith(name)]
    return tolerances[max(names, key=len)] if names else Tolerance(0.0)


def scalar_error(delta: Delta, tolerance: Tolerance) -> LeafError | None:
    """The error between two Python floats; None if they are something else."""
    try:
        ours, theirs = float(delta.original), float(delta.rewritten)
    except ValueError:
        return None
    absolute = abs(ours - theirs)
    larger = max(abs(ours), abs(theirs))
    return LeafError(
        absolute=absolute,
        relative=absolute / larger if larger else 0.0,
        ulp=absolute / math.ulp(larger),
        original=delta.original,
        rewritten=delta.rewritten,
        within=absolute <= tolerance.atol + tolerance.rtol * (larger + abs(ours)),
        different_elements=1,
        elements=1,
        nan_mismatch=math.isnan(ours) != math.isnan(theirs),
    )


def measure(pairs: list[ArrayPair], python: str, boot: Path, devices: int) -> list[LeafError]:
    """The errors of each pair; raises VerifyError if the interpreter cannot compare."""
    if not pairs:
        return []
    question = json.dumps({"devices": devices, "pairs": [_as_json(pair) for pair in pairs]})
    environment = {**os.environ, "PYTHONPATH": str(boot)}
    environment.pop("JAXMIGRATE_VERIFY", None)
    answer = subprocess.run(
        [python, "-m", "jaxmigrate_child.errors"],
        input=question,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise VerifyError(f"{python} could not compare the recorded arrays: {answer.stderr.strip()[-500:]}")
    return [LeafError(**{**found, "index": tuple(found["index"])}) for found in json.loads(answer.stdout)]


def _as_json(pair: ArrayPair) -> dict[str, Any]:
    return {
        "original": pair.original,
        "rewritten": pair.rewritten,
        "original_dtype": pair.original_dtype,
        "rewritten_dtype": pair.rewritten_dtype,
        "shape": pair.shape,
        "rewritten_shape": pair.rewritten_shape,
        "layout": pair.layout,
        "rtol": pair.tolerance.rtol,
        "atol": pair.tolerance.atol,
        "given": pair.given,
        "call": pair.call,
        "series": pair.series,
        "inputs_equal": pair.inputs_equal,
        "of_equal": pair.of_equal,
        "before": pair.before,
        "rewritten_before": pair.rewritten_before,
        "before_layout": pair.before_layout,
        "rewritten_before_shape": pair.rewritten_before_shape,
        "nudged": pair.nudged,
        "nudged_before": pair.nudged_before,
    }
