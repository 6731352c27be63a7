"""Type parameters and `type` statements are left out of what an older Python parses, and lint reads such files."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.program.type_parameters import without_type_parameters
from jaxmigrate.sources import decode

WRITTEN = [
    ("class Box[T](Base): pass\n", "class Box   (Base): pass\n"),
    ("def f[T: (int, str), *Ts](x: T): return x[0]\n", "def f                    (x: T): return x[0]\n"),
    ("async def f[**P](x): pass\n", "async def f     (x): pass\n"),
    ("type Row = list[int]\n", "Row      = list[int]\n"),
    ("if a:\n    type Pair[K] = tuple[K, K]\n", "if a:\n    Pair         = tuple[K, K]\n"),
    ("def f[\n    T,\n](x): pass\n", "def f\\\n     \\\n (x): pass\n"),
    ('def f[T="é"](x): pass\n', "def f        (x): pass\n"),
]
LEFT = [
    "x = y[0]\n",
    "type(x)\n",
    "type = 3\n",
    "print(type, x)\n",
    "class A: pass\n",
    "def f(x): return x[0]\n",
    "def f(\n",
]


@pytest.mark.parametrize(("text", "older"), WRITTEN)
def test_all_else_keeps_its_line_and_byte(text: str, older: str) -> None:
    """What is left parses, and is as long as before."""
    assert without_type_parameters(text) == older
    assert [len(line) for line in older.encode().splitlines()] == [len(line) for line in text.encode().splitlines()]
    ast.parse(older)


@pytest.mark.parametrize("text", LEFT)
def test_other_texts_have_none(text: str) -> None:
    """Also those that cannot be parsed for another reason."""
    assert without_type_parameters(text) is None


STEP = """\
import jax
from jax import lax
type Params = dict[str, jax.Array]
class Trainer[T]:
    def mean[S](self, x: S) -> S:
        return lax.pmean(x, "bath")
    def step(self, x): return jax.pmap(self.mean, axis_name="batch")(x)
"""


def test_lint_reads_them() -> None:
    """A finding stands where it does in the file, whatever Python runs this."""
    told = [(one.code, one.line, one.column) for one in lint([decode(STEP.encode(), "a.py", None)], Config())]
    assert told == [("JM101", 6, 16)]
