"""The walk over a module's tree that everything else stands on, where it is made cheaper than Python's own."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from jaxmigrate.program.scopes import build_scopes, walk

DECLARING = {
    "a line of its own": "def f():\n    global x\n    x = 1\n",
    "behind a semicolon": "def f():\n    y = 2 ; global x\n    x = 1\n",
    "behind a colon": "def f():\n    if y:  global x\n    x = 1\n",
    "behind a tab and a form feed": "def f():\n\t\f\tglobal x\n\tx = 1\n",
    "behind a backslash": "def f():\n    if y: \\\n      global x\n    x = 1\n",
    "lines ended as on old machines": "def f():\r    global x\r    x = 1\r",
    "behind much white space": f"def f():\n{' ' * 300}global x\n{' ' * 300}x = 1\n",
    "at the second place": "# the global batch\ndef f():\n    global x\n    x = 1\n",
}


@pytest.mark.parametrize("text", DECLARING.values(), ids=DECLARING)
def test_a_global_is_bound_where_it_is_declared_to_be(text: str) -> None:
    table = build_scopes(ast.parse(text), text)
    assert "x" in table.root.bindings
    assert "x" not in table.root.children[0].bindings


def test_a_nonlocal_is_bound_in_the_function_around() -> None:
    text = "def f():\n    x = 0\n    def g():\n        nonlocal x\n        x = 1\n"
    around = build_scopes(ast.parse(text), text).root.children[0]
    assert len(around.bindings["x"]) == 2
    assert "x" not in around.children[0].bindings


def test_a_comment_declares_nothing() -> None:
    text = textwrap.dedent("""
        def f():
            "The global batch; a global one."
            global_batch = x = 1  # one global x
        """)
    table = build_scopes(ast.parse(text), text)
    assert "x" not in table.root.bindings
    assert "x" in table.root.children[0].bindings


def test_walking_gives_what_python_gives_but_for_contexts_and_operators() -> None:
    shared = ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop
    for path in sorted(Path(ast.__file__).parent.glob("[a-d]*.py")):
        tree = ast.parse(path.read_bytes())
        assert walk(tree) == [node for node in ast.walk(tree) if not isinstance(node, shared)], path
