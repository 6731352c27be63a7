"""f-strings of Python 3.12, as an older Python reads them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.program.nested_quotes import without_nested_quotes
from jaxmigrate.sources import decode


@pytest.mark.parametrize(
    ("text", "older"),
    [
        ('x = f"{row["a"]}"', "x = f\"{row['a']}\""),
        ("x = f'{row['a']:>{w['b']}} {z}' + \"#\"", 'x = f\'{row["a"]:>{w["b"]}} {z}\' + "#"'),
        ('x = "f" f"{{{", ".join(y)}}}"  # f"{', 'x = "f" f"{{{\', \'.join(y)}}}"  # f"{'),
        ('x = rf"{row["it\'s"]}"', 'x =   "{row[ it s ]}"'),
        ('x = f"{f"{y}"}é"', "x = f\"{f'{y}'}é\""),
        ("x = f'{\"\\n\".join(y)}'", "x =  '{  n .join(y)}'"),
    ],
)
def test_what_is_read(text: str, older: str) -> None:
    assert without_nested_quotes(text) == older
    assert len(older.encode()) == len(text.encode())
    ast.parse(older)


@pytest.mark.parametrize(
    "text", ["x = f\"{row['a']}\"", "x = '{'", 'x = f"{row["a"]', 'x = f"{y!r:>{w}}" "a""b"', '"""f"{x["a"]}" """']
)
def test_what_is_left(text: str) -> None:
    assert without_nested_quotes(text) is None


def test_lint_reads_the_rest_of_the_file() -> None:
    text = 'import jax\nstep = jax.pmap(lambda x: jax.lax.psum(x, "j"), axis_name="i")\nprint(f"{step["a"]}")\n'
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    assert [(one.code, one.line) for one in found if one.code == "JM101"] == [("JM101", 2)]
