"""Has pairs of arrays compared number by number, by the interpreter that the program itself ran in.

jaxmigrate may be installed where there is no NumPy; the program's interpreter has it, with ml_dtypes besides.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxmigrate.verify.model import LeafError, Tolerance, VerifyError


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
