"""What functions do wrong that no map in sight leads to, and steps whose way to their map is hard to follow.

`unmapped_programs.txt` has each program with the line that makes it wrong, and behind `#>` that which makes it right;
each ran both ways on 8 devices, but for the one with chex.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rules.test_unequal_programs import codes, way

TEXT = Path(__file__).with_name("unmapped_programs.txt").read_text("utf-8")
PROGRAMS = [one.split("\n", 1) for one in re.split(r"^=== ", TEXT, flags=re.MULTILINE)[1:]]


@pytest.mark.parametrize(("head", "text"), PROGRAMS, ids=[head for head, _ in PROGRAMS])
def test_the_wrong_program_is_told_and_the_right_one_is_not(head: str, text: str) -> None:
    lines = text.splitlines()
    assert head.split(maxsplit=1)[0] in codes("\n".join(way(line, right=False) for line in lines))
    assert codes("\n".join(way(line, right=True) for line in lines)) == set()
