"""Runs the programs with maps inside maps as written on an older JAX, which takes them, and as rewritten on this one.

    python tests/campaigns/nesting.py --python EXE [--write]

EXE is a Python with a JAX older than 0.8. `--write` records its results for the tests, which have no such JAX.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run
from tests.migrate.nested_programs import RESULTS, programs


def results(texts: dict[str, str], python: str) -> dict[str, list[list[str]]]:
    """Key path, dtype, shape and bytes of everything that each program returns."""
    found: dict[str, list[list[str]]] = {}
    for verdict in run((Program(name, {"main.py": text}, None) for name, text in texts.items()), python):
        if verdict.verdict != "agrees":
            print(f"{verdict.name} {verdict.verdict}\n{verdict.text}", file=sys.stderr)
        found[verdict.name] = [row[:4] for row in json.loads(verdict.text)] if verdict.verdict == "agrees" else []
    return found


def main() -> int:
    """Prints how many agree bitwise; 1 where one does not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    code = "import jax; print(jax.__version__)"
    version = subprocess.run([options.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    before = results(programs(), options.python)
    fixed = {name: fix_files({"main.py": text})["main.py"] for name, text in programs().items()}
    left = [name for name, text in fixed.items() if "jax.pmap" in text]
    for name in left:
        print(f"left: {name}")
    wrong = len(left)
    for python in dict.fromkeys((options.python, sys.executable)):
        after = results(fixed, python)
        agree = [name for name in before if before[name] and after[name] == before[name]]
        print(f"{len(agree)} of {len(before)} agree bitwise with jax.pmap of {version}, rewritten under {python}")
        for name in before:
            if name not in agree:
                print(f"differs: {name}")
        wrong += len(before) - len(agree)
    if options.write and not wrong:
        RESULTS.write_text(json.dumps({"jax": version, "results": before}, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
