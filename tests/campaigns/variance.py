"""Compares the variance engine with runs of generated shard_map bodies on 8 simulated devices, and with check_vma.

    python tests/campaigns/variance.py [--bodies 2000] [--length 5] [--first 1000] [--handed] [--show]

Prints, over all outputs of all bodies: how many of each level differ between devices bitwise, how many JAX's check
calls varying, why it refuses bodies, why both disagree where the check calls invariant what the engine does not, and
with --show every disagreement.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.flow.variance.oracle import Verdicts, compare

AT_ONCE = 250


def main() -> int:
    """Prints the table; 1 where a value was called equal that is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=2000)
    parser.add_argument("--length", type=int, default=5)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--handed", action="store_true", help="some statements give functions to libraries")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    total = Verdicts()
    with tempfile.TemporaryDirectory() as folder:
        for first in range(given.first, given.first + given.bodies, AT_ONCE):
            seeds = range(first, min(first + AT_ONCE, given.first + given.bodies))
            add(total, compare(seeds, Path(folder), given.length, handed=given.handed))
    for name in ("levels", "against_check", "refused", "causes"):
        print(f"\n{name}")
        for what, count in sorted(getattr(total, name).items()):
            print(f"{count:7d}  {what}")
    for name in ("unsound", "equal_after_all", "unproven", "missed", "unexplained"):
        print(f"\n{name}: {len(getattr(total, name))} of {total.outputs} outputs")
        if given.show or name in ("unsound", "unexplained"):
            print("\n".join(getattr(total, name)))
    return 1 if total.unsound else 0


def add(total: Verdicts, more: Verdicts) -> None:
    """Adds one batch's counts."""
    for field in fields(total):
        mine, other = getattr(total, field.name), getattr(more, field.name)
        setattr(total, field.name, mine + other if not isinstance(mine, Counter) else mine + Counter(other))


if __name__ == "__main__":
    sys.exit(main())
