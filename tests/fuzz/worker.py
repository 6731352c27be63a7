"""Runs programs and their rewritten forms on 8 simulated devices, and compares what they observed bit by bit.

Reads lines `{"name": ..., "before": {path: text}, "after": {label: {path: text}}}` from standard input. Answers each
with `{"name": ..., "verdicts": {label: [verdict, text]}}`, after a line `{"begun": label}` for each run, so that who
reads knows which run ended the process. Verdicts:

    equal           every observed value has the same bytes
    types           the same bytes in another type of array (numpy's for JAX's, weakly typed)
    last bits       floats differ by no more than NEAR of the largest of their array
    differs         anything else: another value, shape, dtype or text
    raises          the rewritten program raises and the original does not
    original raises nothing is compared
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from tests.sparing import be_brief, share_contexts, share_executables

NEAR = 2e-5
PROGRAMS_A_CACHE, PROGRAMS_A_CONTEXT = 600, 20
WEAK = ", weak_type=True"
NUMPY, ARRAY = re.compile(r"np\.\w+\(([^()]*)\)"), re.compile(r"array\(([^()\[\]]*), dtype=\w+\)")
NUMBER = re.compile(r"-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|nan|inf)")
Leaves = list[tuple[str, Any]]


class Held(NamedTuple):
    """An array, and in what type of object the program has it."""

    array: np.ndarray
    kind: str


def run(files: dict[str, str]) -> tuple[Leaves, str]:
    """Imports `main` from files written to a new folder; its `RESULT`, leaf by leaf, and what it printed."""
    home, before, printed = os.getcwd(), set(sys.modules), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sys.path.insert(0, folder)
        os.chdir(folder)
        importlib.invalidate_caches()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                found: Leaves = []
                describe("", importlib.import_module("main").RESULT, found)
            return found, printed.getvalue()
        finally:
            os.chdir(home)
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                    del sys.modules[name]


def describe(place: str, value: Any, found: Leaves) -> None:
    """Lists the leaves of any value, with the types of the containers on the way."""
    if isinstance(value, dict):
        for key in value:
            describe(f"{place}[{key!r}]", value[key], found)
    elif isinstance(value, list | tuple):
        found.append((place, f"{type(value).__name__} of {len(value)}"))
        for index, item in enumerate(value):
            describe(f"{place}[{index}]", item, found)
    elif isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        found.append((place, Held(np.asarray(jax.random.key_data(value)), "keys")))
    elif isinstance(value, jax.Array):
        found.append((place, Held(np.array(value), "a weakly typed array" if value.weak_type else "an array")))
    elif isinstance(value, np.ndarray | np.generic):
        found.append(
            (place, Held(np.array(value), f"a numpy {'array' if isinstance(value, np.ndarray) else 'number'}"))
        )
    elif hasattr(value, "__dataclass_fields__"):
        found.append((place, type(value).__name__))
        for name in value.__dataclass_fields__:
            describe(f"{place}.{name}", getattr(value, name), found)
    else:
        found.append((place, value if isinstance(value, int | float | str) else f"{type(value).__name__} {value!r}"))


def compare(before: tuple[Leaves, str], after: tuple[Leaves, str]) -> tuple[str, str]:
    """The verdict on two runs, and what differs."""
    worst, said = "equal", ""
    order = ("equal", "types", "last bits", "differs")
    if [place for place, _ in before[0]] != [place for place, _ in after[0]]:
        return "differs", f"{[p for p, _ in before[0]]} became {[p for p, _ in after[0]]}"[:2000]
    pairs = [(place, one, other) for (place, one), (_, other) in zip(before[0], after[0], strict=True)]
    pairs.append(("printed", before[1], after[1]))
    for place, one, other in pairs:
        verdict = compare_text(one, other) if place == "printed" else compare_leaf(one, other)
        if order.index(verdict) > order.index(worst):
            worst, said = verdict, f"{place}: {str(one)[:600]} became {str(other)[:600]}"
    return worst, said


def compare_leaf(one: Any, other: Any) -> str:
    """The verdict on two leaves."""
    if isinstance(one, Held) and isinstance(other, Held):
        first, second = one.array, other.array
        if (first.dtype, first.shape) != (second.dtype, second.shape):
            return "differs"
        if first.tobytes() == second.tobytes():
            return "equal" if one.kind == other.kind else "types"
        return "last bits" if near(first, second) else "differs"
    if type(one) is not type(other):
        return "differs"
    if isinstance(one, str):
        return compare_text(one, other)
    if one == other or (one != one and other != other):
        return "equal"
    return "last bits" if isinstance(one, float) and near(np.asarray(one), np.asarray(other)) else "differs"


def compare_text(one: str, other: str) -> str:
    """The verdict on two texts, in which numbers may differ a little."""
    if one == other:
        return "equal"
    one, other = untyped(one), untyped(other)
    if one == other:
        return "types"
    if NUMBER.sub("#", " ".join(one.split())) != NUMBER.sub("#", " ".join(other.split())):
        return "differs"
    first, second = (np.array([float(n) for n in NUMBER.findall(text)]) for text in (one, other))
    return "last bits" if all(near(a, b) for a, b in zip(first, second, strict=True)) else "differs"


def untyped(text: str) -> str:
    """A text in which numbers, and arrays without axes, of either library look alike."""
    return ARRAY.sub(r"\1", NUMPY.sub(r"\1", text.replace(WEAK, "").replace("Array(", "array(")))


def near(one: Any, other: Any) -> bool:
    """Whether floats of the same shape differ in their last bits only."""
    if not np.issubdtype(np.asarray(one).dtype, np.floating):
        return False
    scale = max(float(np.max(np.abs(one[np.isfinite(one)]), initial=0.0)), 1e-2)
    return bool(np.allclose(one, other, rtol=0, atol=NEAR * scale, equal_nan=True))


def answer(case: dict[str, Any], out: Any) -> dict[str, list[str]]:
    """The verdict on each rewritten form of a program."""
    print(json.dumps({"begun": "before"}), file=out, flush=True)
    try:
        before = run(case["before"])
    except Exception:  # noqa: BLE001 - whatever a program raises is its verdict
        return {label: ["original raises", traceback.format_exc(limit=-3)] for label in [*case["after"], "before"]}
    verdicts: dict[str, list[str]] = {}
    for label, files in case["after"].items():
        print(json.dumps({"begun": label}), file=out, flush=True)
        try:
            verdicts[label] = list(compare(before, run(files)))
        except Exception:  # noqa: BLE001
            verdicts[label] = ["raises", traceback.format_exc(limit=-4)]
    return verdicts


def main() -> None:
    """Answers line by line."""
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    gc.disable()
    be_brief()
    renew_context, forget_executables = share_contexts(), share_executables()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for count, line in enumerate(sys.stdin, 1):
        case = json.loads(line)
        print(json.dumps({"name": case["name"], "verdicts": answer(case, out)}), file=out, flush=True)
        if count % PROGRAMS_A_CACHE == 0:
            jax.clear_caches()  # type: ignore[no-untyped-call]
            forget_executables()
        if count % PROGRAMS_A_CONTEXT == 0:
            renew_context()
            gc.collect()


if __name__ == "__main__":
    main()
