"""Has pairs of arrays compared number by number, by the interpreter that the program itself ran in.

jaxmigrate may be installed where there is no NumPy; the program's interpreter has it, with ml_dtypes besides.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from jaxmigrate.verify.compare import MEASURED, CallPair, Delta
from jaxmigrate.verify.model import LeafError, Tolerance, VerifyError
from jaxmigrate.verify.recording import Leaf


@dataclass(frozen=True)
class ArrayPair:
    """One leaf on both sides: where its bytes are, and how to read them.

    `rewritten_shape` and `layout` say how to bring the rewritten leaf to `shape`, the original's. `before` is the
    argument that the leaf replaces, where both sides were given the same.
    """

    original: Path
    rewritten: Path
    original_dtype: str
    rewritten_dtype: str
    shape: tuple[int, ...]
    rewritten_shape: tuple[int, ...]
    layout: str
    tolerance: Tolerance
    before: Path | None = None


def array_pair(pair: CallPair, delta: Delta, tolerances: Mapping[str, Tolerance]) -> ArrayPair | None:
    """Where both sides have left the bytes of a leaf that differs; None if one of them has not."""
    ours, theirs = (
        (call.inputs if delta.where == "input" else call.outputs) for call in (pair.original, pair.rewritten)
    )
    if ours is None or theirs is None or delta.leaf is None or delta.other is None:
        return None
    files = ours.array(delta.leaf), theirs.array(delta.other)
    if files[0] is None or files[1] is None or delta.layout is None or delta.kind not in MEASURED:
        return None
    leaf, other = ours.signature.leaves[delta.leaf], theirs.signature.leaves[delta.other]
    tolerance = tolerance_of(leaf.dtype, tolerances)
    before = _before(pair, leaf) if delta.where == "output" and pair.inputs_equal else None
    return ArrayPair(
        files[0], files[1], leaf.dtype, other.dtype, leaf.shape, other.shape, delta.layout.value, tolerance, before
    )


def _before(pair: CallPair, result: Leaf) -> Path | None:
    """The argument that a result replaces: of the same shape, and named alike from the end, as parameters are."""
    if pair.original.inputs is None:
        return None
    found: tuple[int, Path | None] = (0, None)
    for number, leaf in enumerate(pair.original.inputs.signature.leaves):
        alike = _common_end(leaf.path, result.path)
        if (leaf.dtype, leaf.shape) == (result.dtype, result.shape) and alike > found[0]:
            found = (alike, pair.original.inputs.array(number))
    return found[1]


def _common_end(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one[::-1], other[::-1], strict=False)))


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
        "original": str(pair.original),
        "rewritten": str(pair.rewritten),
        "original_dtype": pair.original_dtype,
        "rewritten_dtype": pair.rewritten_dtype,
        "shape": pair.shape,
        "rewritten_shape": pair.rewritten_shape,
        "layout": pair.layout,
        "rtol": pair.tolerance.rtol,
        "atol": pair.tolerance.atol,
        "before": str(pair.before) if pair.before is not None else "",
    }
