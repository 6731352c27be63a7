"""The marks by which a run shows how the host makes its arrays: they change nothing that the program does."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.migrate.witnesses import with_witnesses
from jaxmigrate.verify.observing import steps_of

ODD = """\
import math, numpy as jax


class Base:
    def twice(self, x):
        return 2 * x


class Own(Base):
    def twice(self, x):
        return(super().twice(x) + 1)


def rows(*args, n=1):
    return [args, n]


def spread(x):
    if(rows(x)): return(rows)((1, x), n=len(str(x)))
    return (rows
            (x)  # a comment
            )


values = [rows((i, -1)) for i in range(2)] + [rows(i for i in (1, 2))]
text = f"{rows(1)!r:>{len(str(12))}}"
print(text, Own().twice(3), spread(1), len(values), math.floor(1.5), "a b".split()[0].upper(), [*map(spread, (1, 2))])
assert not(rows(0) is None) and(rows(1)), (lambda: locals())()
print(*sorted({spread(1)[1]: 1}.items()), (y := abs(-2)), y.__add__(1))
"""


def test_marks_hand_on_what_they_stand_around(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = with_witnesses("odd.py", Path("/odd.py"), ODD)
    assert marked.count("__jaxmigrate_host__") > 20
    assert len(marked.splitlines()) == len(ODD.splitlines())
    exec(ODD.replace("<generator", ""), {"__name__": "plain"})
    plain = capsys.readouterr().out
    seen: list[str] = []

    def host(mark: str, value: Any) -> Any:
        seen.append(mark)
        return value

    monkeypatch.setitem(vars(builtins), "__jaxmigrate_host__", host)
    exec(marked, {"__name__": "marked"})
    assert capsys.readouterr().out == plain
    assert len(seen) > 30


def test_a_mark_names_its_expression_and_what_it_may_be_made_of() -> None:
    text = "import numpy\nbatch = 1\nx = batch.reshape(batch)\n"
    call = ast.parse(with_witnesses("a.py", Path("/a.py"), text)).body[2]
    marks = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
    whole, *operands = str(max(marks, key=lambda mark: len(str(mark)))).split("\t")
    assert whole == "a.py:3:5-3:24"
    assert operands == ["~a.py:3:19-3:23", "~a.py:3:5-3:9"]


@pytest.mark.parametrize(
    ("path", "steps"),
    [("[0]", [0]), ("[1].params['w']", [1, "params", "w"]), ("", []), ("['a'][0]", ["a", 0])],
)
def test_steps_of_a_key_path(path: str, steps: list[int | str]) -> None:
    assert [*steps_of(path)] == steps
