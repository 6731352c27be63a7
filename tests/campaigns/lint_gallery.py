"""Lints 259 programs in today's style, half right and half wrong, and prints how many are told, by kind.

    python tests/campaigns/lint_gallery.py [--write] [--missed]

`tests/lint/gallery.txt` has them one after the other, each behind a line `=== name | outcome | kind | lines | told |
what`. Whoever wrote them had not seen the rules, and ran each on 8 simulated devices: the outcome is right, raises,
wrong number or hangs. `lines` are those that a reviewer would point at; a wrong program counts as found if a finding
is at most three lines from one. `--write` notes in `told` what is so now, which `pytest tests/lint/test_gallery.py`
compares with.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

GALLERY = Path(__file__).parents[1] / "lint" / "gallery.txt"
NEAR = 3  # lines
REFUSED = re.compile(r" is gone since | has no argument ")  # of old names: others still run, and are no mistakes
AT_HOME = Path("/project/main.py")


@dataclass(frozen=True, slots=True)
class Example:
    """One program: what JAX does with it, where a reviewer would point, and what lint says: codes, or "quiet"."""

    name: str
    outcome: str
    kind: str
    lines: tuple[int, ...]
    told: str
    what: str
    text: str

    @property
    def is_right(self) -> bool:
        """Whether it computes what it should."""
        return self.outcome == "right"


def examples() -> list[Example]:
    """The programs of the gallery."""
    found = []
    for block in GALLERY.read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, text = block.partition("\n")
        name, outcome, kind, lines, told, what = (part.strip() for part in head.split("|"))
        found.append(Example(name, outcome, kind, tuple(map(int, lines.split())), told, what, text))
    return found


def told(example: Example) -> str:
    """The codes that tell of a program, near the right line where it is wrong; "quiet" where none does."""
    source = decode(example.text.encode(), "main.py", AT_HOME)
    found = [one for one in lint([source], Config()) if not one.code.startswith("JM4") or REFUSED.search(one.message)]
    if not example.is_right:
        found = [one for one in found if any(abs(one.line - line) <= NEAR for line in example.lines)]
    return " ".join(sorted({one.code for one in found})) or "quiet"


def write(found: list[Example]) -> None:
    """Writes the gallery anew."""
    heads = (f"{e.name} | {e.outcome} | {e.kind} | {' '.join(map(str, e.lines))} | {e.told} | {e.what}" for e in found)
    text = "".join(f"=== {head}\n{e.text}" for head, e in zip(heads, found, strict=True))
    GALLERY.write_text(text, encoding="utf-8")


def main() -> int:
    """Prints the table; 1 where a right program is told."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="note what is told now")
    parser.add_argument("--missed", action="store_true", help="list the wrong programs that are not found")
    options = parser.parse_args()
    now = [replace(example, told=told(example)) for example in examples()]
    if options.write:
        write(now)
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for one in now:
        kinds = (one.outcome, "all wrong") if not one.is_right else (one.outcome,)
        for kind in kinds:
            table[kind]["told" if one.told != "quiet" else "quiet"] += 1
        if one.is_right == (one.told != "quiet") and (one.is_right or options.missed):
            print(f"{one.name}: {one.told}: {one.what}")
    print("| outcome | programs | told |\n|---|---:|---:|")
    for kind, counts in table.items():
        print(f"| {kind} | {counts.total()} | {counts['told']} |")
    return 1 if table["right"]["told"] else 0


if __name__ == "__main__":
    sys.exit(main())
