"""Changes programs in ways that mean nothing, and plants faults: lint has to tell the one from the other.

    python tests/fuzz/lint.py [--seed 0] [--seconds 300] [--count N] [--keep FOLDER]

Each program is one of those of programs.py. A change that means nothing (variables renamed, a function extracted, moved
to another module, wrapped in jit or partial, printed anew, padded) must leave the findings as they are, counted by
rule. A planted fault must add a finding of its rule, and nothing of what was found before may go. Prints totals by
change and by fault; 1 where a change changed findings.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.lint.linting import ask
from jaxmigrate.program.modules import Project, parse_module, read_utf8
from tests.fuzz.changes import FAULTS, HARMLESS
from tests.fuzz.grammar.program import Files
from tests.fuzz.running import generated

ROOT = Path("/project")


def findings(files: Files) -> Counter[str]:
    """How often lint tells of each rule."""
    texts = {ROOT / name: text for name, text in files.items()}
    modules = [parse_module(path, text) for path, text in texts.items()]
    project = Project(modules, lambda path: texts.get(path) or read_utf8(path), texts)
    names = {path: path.name for path in texts}
    return Counter(finding.code for finding in ask(modules, project, names))


def tried(files: Files, seed: str) -> list[tuple[str, str, str, Files]]:
    """Each change or fault with its verdict (`kept`, `changed`, `found`, `missed`), what changed, and the program."""
    before, verdicts = findings(files), []
    for name, change in HARMLESS.items():
        made = change(random.Random(seed), files)
        if made is not None:
            after = findings(made)
            verdict = "kept" if after == before else "changed"
            verdicts.append((name, verdict, f"{dict(before - after)} became {dict(after - before)}", made))
    for name, (code, fault) in FAULTS.items():
        made = fault(random.Random(seed), files)
        if made is not None:
            after = findings(made)
            verdict = "found" if after[code] > before[code] else "missed"
            verdicts.append((name, verdict, f"{dict(before)} became {dict(after)}", made))
    return verdicts


def keep(folder: Path, name: str, files: Files, made: Files) -> None:
    """Writes a program before and after a change."""
    for label, texts in (("before", files), ("after", made)):
        for path, text in texts.items():
            (folder / name / label).mkdir(parents=True, exist_ok=True)
            (folder / name / label / path).write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the campaign."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    until, counts, programs = time.monotonic() + options.seconds, Counter[tuple[str, str]](), 0
    for number in range(options.count):
        if time.monotonic() > until:
            break
        programs += 1
        files = generated(f"{options.seed}:{number}")[1]
        for name, verdict, said, made in tried(files, f"{options.seed}:{number}"):
            counts[name, verdict] += 1
            if verdict in ("changed", "missed"):
                print(f"{number} {name} {verdict}: {said}", file=sys.stderr, flush=True)
                if options.keep is not None:
                    keep(options.keep, f"{number}_{name}", files, made)
    print(f"seed {options.seed}: {programs} programs")
    for name in HARMLESS:
        print(f"{name}: {counts[name, 'kept']} kept every finding, {counts[name, 'changed']} did not")
    for name, (code, _) in FAULTS.items():
        print(f"{name}: {counts[name, 'found']} found by {code}, {counts[name, 'missed']} missed")
    return 1 if any(verdict == "changed" for _, verdict in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
