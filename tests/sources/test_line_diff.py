"""Long texts are compared as well as short ones, and much faster."""

from __future__ import annotations

import difflib
import random
import time

import pytest

from jaxmigrate.reports.diff import unified_diff
from jaxmigrate.sources import line_diff
from jaxmigrate.sources.line_diff import Opcode, opcodes


def applied(before: list[str], after: list[str], steps: list[Opcode]) -> list[str]:
    """What the steps make of a text."""
    assert [step[1] for step in steps[1:]] == [step[2] for step in steps[:-1]]
    made: list[str] = []
    for kind, a, b, c, d in steps:
        assert (before[a:b] == after[c:d]) == (kind == "equal")
        made += before[a:b] if kind == "equal" else after[c:d]
    return made


def changed(lines: list[str], seed: int) -> list[str]:
    """A text with lines taken away, added, moved and doubled."""
    choice = random.Random(seed)
    found = list(lines)
    for _ in range(20):
        at = choice.randrange(len(found))
        match choice.randrange(4):
            case 0:
                del found[at : at + choice.randrange(5)]
            case 1:
                found[at:at] = [f"new {choice.random()}" for _ in range(choice.randrange(5))]
            case 2:
                found.insert(choice.randrange(len(found)), found.pop(at))
            case _:
                found.insert(at, found[choice.randrange(len(found))])
    return found


def test_the_steps_lead_from_one_text_to_the_other() -> None:
    for seed in range(50):
        before = [f"line {number % 70 if seed % 2 else number}" for number in range(200)]
        after = changed(before, seed)
        steps = list(line_diff._merged(line_diff._between_anchors(before, after)))
        assert applied(before, after, steps) == after


def test_repeated_lines_hold_one_another_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    matcher = difflib.SequenceMatcher

    def counted(junk: None, a: list[str], b: list[str]) -> difflib.SequenceMatcher[str]:
        compared.append(len(a) + len(b))
        return matcher(junk, a, b)

    monkeypatch.setattr(difflib, "SequenceMatcher", counted)
    for lines in (4_000, 16_000):
        compared.clear()
        before = ["x = jax.tree_map(f, x)" if number % 4 == 0 else f"y = {number % 4}" for number in range(lines)]
        after = [line.replace("tree_map", "tree.map") for line in before]
        assert applied(before, after, list(opcodes(before, after))) == after
        assert max(compared) < 10


def test_short_texts_are_compared_by_difflib() -> None:
    before, after = ["a", "b", "c"], ["a", "c", "d"]
    assert opcodes(before, after) == difflib.SequenceMatcher(None, before, after).get_opcodes()


def test_a_diff_is_what_difflib_writes() -> None:
    before = "".join(f"line {number}\n" for number in range(60))
    after = before.replace("line 7\n", "").replace("line 30\n", "line x\nline y\n") + "end\n"
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), "a/f.py", "b/f.py")
    assert unified_diff("f.py", before.encode(), after.encode()) == "".join(lines).encode()
    assert unified_diff("f.py", b"a\n", b"a\n") == b""
    assert (
        unified_diff("f.py", b"", b"a") == b"--- a/f.py\n+++ b/f.py\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
    )


def test_a_long_text_takes_no_time() -> None:
    before = [line for number in range(60_000) for line in ("def f():", f"    return {number}", "", "")]
    after = changed(before, 1)
    start = time.process_time()
    assert applied(before, after, list(opcodes(before, after))) == after
    assert time.process_time() - start < 10
