"""Each reason for which an array stays stacked carries a cause that docs/stacked.md explains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from jaxmigrate.cli import main
from jaxmigrate.flow.layout.advice import advice
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.reasons import CAUSES
from jaxmigrate.flow.layout.values import Blocker, Remedy
from jaxmigrate.migrate.plan import ArrayLayout
from jaxmigrate.program.modules import Module

from .running import plan

LAYOUT = Path(__file__).parents[2] / "jaxmigrate" / "flow" / "layout"
MAPPED = """import jax
import jax.numpy as jnp
from flax import jax_utils
import tools

step = jax.pmap(lambda w, x: (jax.lax.pmean(w, "i"), x), axis_name="i")


def run(load):
    w = jax_utils.replicate(jnp.ones(3))
    x = jnp.ones((8, 2))
    w, x = step(w, x)
    USE
    return jax_utils.unreplicate(w)


RESULT = run(None)
"""


def causes_in_code() -> Iterator[str]:
    """The cause of each place in the analysis that gives a reason."""
    for path in sorted(LAYOUT.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(ast.Attribute(ast.Name("Stacked"), cause), "reason")):
                    yield Stacked[cause]


def test_every_cause_is_explained_once() -> None:
    assert [one.anchor for one in CAUSES] == list(Stacked)


def test_every_cause_has_a_reason() -> None:
    found = list(causes_in_code())
    assert len(found) > 80
    assert set(Stacked) - {*found} == set()


def test_no_reason_is_a_bare_text() -> None:
    """The type checker sees to it; this is the same for someone who runs the tests alone."""
    bare = [
        f"{path.name}:{node.lineno}"
        for path in LAYOUT.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("Blocker", "blocker_at", "block_all", "_drop")
        and any(isinstance(one, ast.JoinedStr | ast.Constant) for one in node.args)
    ]
    assert bare == []


def arrays(use: str) -> list[ArrayLayout]:
    found = plan({"main.py": MAPPED.replace("USE", use)})
    return [array for file in found.files for site in file.sites for array in (*site.arguments, *site.outputs)]


@pytest.mark.parametrize(
    ("use", "cause", "reason", "topic"),
    [
        (
            "print(x.argmax())",
            Stacked.READ_ON_HOST,
            "has .argmax() called on the host",
            "has a method called on the host",
        ),
        ("tools.log(w)", Stacked.PASSED_ON, "is passed to tools.log", "is passed to a function"),
        ("step(*(w, x))", Stacked.MAP_STAYS, "is an argument for which another call", ""),
        ("if w.any() or (w == x): print()", Stacked.READ_ON_HOST, "", ""),
    ],
)
def test_arrays_say_why_they_stay(use: str, cause: Stacked, reason: str, topic: str) -> None:
    held = [array for array in arrays(use) if array.reason]
    assert [array for array in held if not array.cause or not array.topic] == []
    found = [array for array in held if array.cause == cause and reason in array.reason]
    assert found, held
    assert not topic or topic in {array.topic for array in found}
    assert all(array.to_json()["cause"] == cause for array in found)


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
    reason = Stacked.MIXED.reason("in words that nobody else uses")
    pin = Blocker(reason, module, tree.body[0], remedy=remedy)
    assert told in advice(cast("Interpreter", None), pin)
