"""Each reason for which an array stays stacked belongs to a cause that docs/stacked.md explains."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from jaxmigrate.cli import main
from jaxmigrate.commands.cells import OUT_OF_ORDER
from jaxmigrate.flow.layout.advice import advice
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.reasons import CAUSES, cause_of
from jaxmigrate.flow.layout.values import Blocker, Remedy
from jaxmigrate.program.modules import Module

LAYOUT = Path(__file__).parents[2] / "jaxmigrate" / "flow" / "layout"
REASON = re.compile(
    r"^(an|can|cannot|changes|comes|differs|fix|following|gets|has|holds|is|its?|may|might|pmap|reaches|shares|the)"
    r" .* ."
    r"|^is a base$"
)
PARTS = {  # of a longer reason, which its beginning sorts
    "a decorator may change",
    "defines how its attributes are looked up",
    "is defined with a metaclass or class keywords",
    "the result of x",
    "x, which may differ between processes",
}


def reasons() -> Iterator[tuple[str, str]]:
    """The texts in the analysis that say why, with their places; names in them are `x`."""
    for path in sorted(LAYOUT.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        prose = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if (
                not isinstance(node, ast.expr)
                or node in inner
                or node in prose
                or path.name in ("advice.py", "observing.py", "reasons.py")
            ):
                continue
            text = ""
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            elif isinstance(node, ast.JoinedStr):
                text = "".join(str(p.value) if isinstance(p, ast.Constant) else "x" for p in node.values)
            if REASON.match(text) and text not in PARTS:
                yield f"{path.name}:{node.lineno}", text


def test_every_reason_has_a_cause() -> None:
    found = dict(reasons())
    assert len(found) > 80
    assert [(place, text) for place, text in found.items() if cause_of(text) is None] == []
    assert cause_of(OUT_OF_ORDER) is not None


def test_every_cause_has_a_reason() -> None:
    every = {cause_of(text) for _, text in reasons()}
    assert [one.anchor for one in CAUSES if one not in every] == []


@pytest.mark.parametrize(
    ("reason", "anchor"),
    [
        ("has .max() called on the host (line 74)", "read-on-host"),
        ("is passed to wandb.log (line 19)", "passed-on"),
        ("is passed by jaxline with one slice per device (line 1)", "jaxline"),
        ("is passed to a mapped function by keyword or with a star (line 1)", "map-stays"),
        ("reaches a mapped function that stays as it is: the mapped function is passed to f (line 2)", "map-stays"),
        ("cannot be proven replicated when the mapped function returns it (line 8)", "not-proven"),
        ("might not hold one slice per device: `x` is `make()` (line 8)", "origin"),
        ("the mapped function's arguments might not hold one slice per device", "origin"),
        ("differs between devices when the mapped function returns it (line 8)", "per-device"),
    ],
)
def test_causes(reason: str, anchor: str) -> None:
    found = cause_of(reason)
    assert found is not None
    assert found.anchor == anchor


def test_a_cause_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "random-key"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("# random-key: One random key per device\n")
    assert "## What to do\n" in said


@pytest.mark.parametrize(
    ("remedy", "told"),
    [
        (Remedy("apart", "jobs.py"), 'declare `apart = ["jobs.py"]`'),
        (Remedy("replaced", "helpers.scale"), 'declare `never-replaced = ["helpers.scale"]`'),
        (Remedy("reads", "wandb.log"), 'declare `readers = ["wandb.log"]`'),
        (Remedy("calls"), "give `fix` the file that calls it"),
    ],
)
def test_advice_does_not_hang_on_the_words_of_a_reason(remedy: Remedy, told: str, tmp_path: Path) -> None:
    tree = ast.parse("x = 1")
    module = Module(tmp_path / "m.py", "x = 1", tree)
    pin = Blocker("in words that nobody else uses", module, tree.body[0], remedy=remedy)
    assert told in advice(cast("Interpreter", None), pin)
