"""A cell must be Python by itself, which one parse of all of them together can tell."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxmigrate.program.modules import parse_module
from jaxmigrate.sources.notebooks.joining import join, pieces

CELLS = (
    "x = 1",
    "x = 1 \\",
    "x = 1 \\\n",
    "x = (",
    ")",
    "x = '''",
    "'''",
    "if x:\n    pass",
    "else:\n    pass",
    "for y in x:",
    "    pass",
    "    if x:",
    "@decorator",
    "def f():\n    pass",
    "class A:\n    # nothing",
    "try:\n    pass",
    "finally:\n    pass",
    "'a' 'b';",
    "# only words",
    "x = 1  # \\",
    "",
    "\tx = 1",
)


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("first", CELLS)
def test_cells_parse_together_where_each_parses_by_itself(first: str) -> None:
    for number, second in enumerate(CELLS):
        text = join([(1, first), (3, second), (4, ("y = 2", "    y = 2")[number % 2])]).text
        each = all(not body.strip() or is_python(body + "\n") for _, body in pieces(text))
        try:
            parse_module(Path("/project/a.ipynb"), text)
        except SyntaxError:
            together = False
        else:
            together = True
        assert together == (each and is_python(text)), text
