"""Runs, for each row of the table of old names, old code on JAX releases that had it and its rewrite on the newest.

    python tests/campaigns/old_names.py --python OLD... --newest NEWEST

OLD and NEWEST are interpreters with their own JAX. Each program of old_name_cases.py runs as it is on every OLD that
can run it, and as fix rewrites it on NEWEST with warnings as errors, on 8 devices. The numbers that the last OLD in the
order given came to are compared. 1 if any differ, or a rewrite fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.migrate import fix_files
from tests.campaigns.old_name_cases import CANNOT, MORE, PRELUDE, USES

CHILD = """
import json, sys, warnings
import jax, numpy as np
jax.devices()
strict, programs = json.load(sys.stdin)
def plain(value):
    if isinstance(value, dict):
        return plain(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value if isinstance(value, str) else np.asarray(value).astype(np.float64).tolist()
results = {}
for name, text in programs.items():
    with warnings.catch_warnings():
        warnings.simplefilter("error" if strict else "ignore")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        scope = {"__name__": "case"}
        try:
            exec(compile(text, name, "exec"), scope)
            results[name] = {"out": plain(scope["out"])}
        except BaseException as error:
            results[name] = {"error": f"{type(error).__name__}: {error}"[:300]}
json.dump({"jax": jax.__version__, "results": results}, sys.stdout)
"""


def run(python: str, programs: dict[str, str], strict: bool) -> tuple[str, dict[str, Any]]:
    """The JAX release of an interpreter, and what each program came to there."""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "NPROC": "64"}
    environment |= {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [python, "-c", CHILD],
        input=json.dumps([strict, programs]),
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
        check=False,
    )
    if not done.stdout:
        raise SystemExit(f"{python} ended with {done.returncode}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    return found["jax"], found["results"]


def differs(one: Any, other: Any) -> str:
    """How two results differ: not at all, in the last bits, or by more."""
    if isinstance(one, str) or isinstance(other, str):
        return "" if one == other else "text"
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return "shape"
        found = [differs(a, b) for a, b in zip(one, other, strict=True)]
        return next((f for f in found if f not in ("", "last bits")), max(found, default=""))
    if isinstance(one, list) or isinstance(other, list):
        return "shape"
    if one == other:
        return ""
    return "last bits" if abs(one - other) <= 2e-6 * max(abs(one), abs(other)) else "numbers"


def main() -> int:
    """Prints what differs or fails, what no OLD can run, and counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", nargs="+", required=True, help="interpreters with an older JAX, oldest first")
    parser.add_argument("--newest", default=sys.executable)
    options = parser.parse_args()
    programs = {name: PRELUDE + text + "\n" for name, text in {**USES, **MORE}.items() if name not in CANNOT}
    fixed = {name: fix_files({"case.py": text})["case.py"] for name, text in programs.items()}
    newest, after = run(options.newest, fixed, strict=True)
    before: dict[str, tuple[str, Any]] = {}
    for python in options.python:
        release, results = run(python, programs, strict=False)
        before |= {name: (release, one["out"]) for name, one in results.items() if "out" in one}
    counts: Counter[str] = Counter()
    for name in programs:
        if "error" in after[name]:
            counts["rewrites that fail on the newest"] += 1
            print(f"{name}: on jax {newest}: {after[name]['error']}")
        elif name not in before:
            counts["rewrites that run on the newest, of names that no older JAX given has"] += 1
            print(f"{name}: no older JAX given runs it")
        else:
            release, out = before[name]
            how = differs(out, after[name]["out"])
            counts[f"compared with an older JAX: {how or 'equal'}"] += 1
            if how not in ("", "last bits"):
                print(f"{name}: {how}: {out} on jax {release}, {after[name]['out']} on jax {newest}")
    for what, count in sorted(counts.items()):
        print(f"{count:4}  {what}")
    bad = sum(count for what, count in counts.items() if what.endswith(("newest", "numbers", "shape", "text")))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
