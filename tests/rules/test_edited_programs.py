"""Programs before and after an edit that makes a mistake: a rule tells what the edit brought, and nothing before it.

In `edited_programs.txt`, lines that end in `#-` stand in the faulty program alone, those in `#+` in the right one.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TEXT = Path(__file__).with_name("edited_programs.txt").read_text("utf-8")
PARTS = [part.partition("\n") for part in re.split("^=== ", TEXT, flags=re.MULTILINE)[1:]]
CASES = {head.partition(" |")[0]: (head.partition(" |")[2].strip(), body) for head, _, body in PARTS}
FAULTY = [name for name, (code, _) in CASES.items() if code]
ABOUT = {code for code, _ in CASES.values() if code}


def codes(body: str, *, faulty: bool) -> Counter[str]:
    """The codes that are told of one way of a program."""
    kept, other = ("#-", "#+") if faulty else ("#+", "#-")
    lines = (line for line in body.splitlines() if not line.endswith(other))
    text = "\n".join(line.removesuffix(kept).rstrip() for line in lines)
    return Counter(one.code for one in lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config()))


@pytest.mark.parametrize("name", FAULTY)
def test_a_mistake_is_told_where_it_was_made(name: str) -> None:
    code, body = CASES[name]
    assert code in codes(body, faulty=True) - codes(body, faulty=False)


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_told_of_the_right_program(name: str) -> None:
    assert not codes(CASES[name][1], faulty=False).keys() & ABOUT
