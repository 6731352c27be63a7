"""Runs, for each row of the table of old names, old code on JAX releases that had it and its rewrite on the newest.

    python tests/campaigns/old_names.py --python OLD... --newest NEWEST

OLD and NEWEST are interpreters with their own JAX. Each program of old_name_cases.py runs as it is on every OLD that
can run it, and as fix rewrites it on NEWEST with warnings as errors, on 8 devices. The numbers that the last OLD in the
order given came to are compared. Rows that only a person can replace have both programs in old_names_by_hand.py.
`--rows` prints what is known of each row of the table. 1 if any differ, or a rewrite fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.migrate import fix_files
from jaxmigrate.program.old_names import old_names, release
from tests.campaigns.old_name_cases import CANNOT, MORE, PRELUDE, USES
from tests.campaigns.old_names_by_hand import BY_HAND, OLDER, WITHOUT

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
    parser.add_argument("--rows", action="store_true", help="print each row of the table, and what was compared for it")
    options = parser.parse_args()
    programs = {name: PRELUDE + text + "\n" for name, text in {**USES, **MORE}.items() if name not in CANNOT}
    fixed = {name: fix_files({"case.py": text})["case.py"] for name, text in programs.items()}
    programs |= {name: PRELUDE + old + "\n" for name, (old, _) in BY_HAND.items()}
    fixed |= {name: PRELUDE + new + "\n" for name, (_, new) in BY_HAND.items()}
    newest, after = run(options.newest, fixed, strict=True)
    before: dict[str, tuple[str, Any]] = {}
    oldest = ""
    for python in options.python:
        version, results = run(python, programs, strict=False)
        oldest = oldest or version
        before |= {name: (version, one["out"]) for name, one in results.items() if "out" in one}
    verdicts = {name: verdict(name, newest, after[name], before.get(name), oldest) for name in programs}
    if options.rows:
        for name in old_names():
            print(f"{name}: {verdicts.get(name) or WITHOUT[name]}")
    for name, told in verdicts.items():
        if told.startswith(BAD):
            print(f"{name}: {told}: {after[name]} on jax {newest}, {before.get(name)}")
    rows = Counter(_kind(verdicts.get(name) or WITHOUT[name]) for name in old_names())
    print(f"rows of the table: {len(old_names())}")
    for what, count in sorted(rows.items()):
        print(f"{count:4}  {what}")
    more = Counter(_kind(told) for name, told in verdicts.items() if name not in old_names())
    print(f"programs beside: {dict(more)}")
    return 1 if any(told.startswith(BAD) for told in verdicts.values()) else 0


BAD = ("fails", "numbers", "shape", "text", "no JAX")


def verdict(name: str, newest: str, after: dict[str, Any], before: tuple[str, Any] | None, oldest: str) -> str:
    """What comparing a program with its replacement told, with the releases."""
    if "error" in after:
        return f"fails on the newest: {after['error']}"
    if before is not None:
        return f"{differs(before[1], after['out']) or 'equal'} on jax {before[0]} and {newest}"
    removed = old_names()[name].removed if name in old_names() else ""
    gone = removed and release(removed) <= release(oldest)
    return OLDER if gone else f"no JAX that was given runs it ({name})"


def _kind(told: str) -> str:
    return re.sub(r" on jax .*|: .*|\(.*", "", told)


if __name__ == "__main__":
    sys.exit(main())
