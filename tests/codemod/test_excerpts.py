"""A long file is rewritten part by part: the text is the same, and LibCST never holds more than a part of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path

import libcst as cst
import pytest

from jaxmigrate.codemod import apply, excerpts
from jaxmigrate.codemod.style import Style
from jaxmigrate.migrate import fix_files
from jaxmigrate.program.operations import Define, Operation, Replace, code

FIXTURES = Path(__file__).parents[2] / "fixtures"
PROGRAMS = ("collectives_tour", "ema_prefetch", "gan", "mcmc_chains", "renderer", "replay_buffers")
Rewrite = Callable[[str, Sequence[Operation]], str]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were rewritten in the smallest of parts, each of which is what comes out of the whole."""
    found: list[str] = []
    in_parts = excerpts.rewritten_in_parts

    def both(
        text: str, operations: Sequence[Operation], statements: Sequence[ast.stmt], rewrite: Rewrite
    ) -> str | None:
        parts = in_parts(text, operations, statements, rewrite)
        if parts is not None:
            assert parts == rewrite(text, operations)
            found.append(text)
        return parts

    monkeypatch.setattr(apply, "rewritten_in_parts", both)
    monkeypatch.setattr(excerpts, "MOST", 1)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_come_out_the_same(name: str, compared: list[str]) -> None:
    paths = sorted((FIXTURES / name / "before").rglob("*.py"))
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    fix_files(texts)
    assert compared


HEAD = '''\
"""What the module is for."""
# A comment.

import jax
from jax import numpy as jnp


def first(x):
    return jax.tree_map(abs, x)


'''
STATEMENTS = """\
TABLE = [
    1,
    2,
]

leaves = jax.tree_leaves(TABLE)  # all
===
async def f(x):
    # above
    y = await jax.tree_map(g, x)
    z = jax.tree_leaves(y); return z
===
class A:
    def f(self):
        if self:
            return jax.tree_map(abs, self)
        return jax.tree_leaves(1)
===
for leaf in jax.tree_leaves(x):
    print(leaf)
    y = jax.tree_map(abs, leaf)
    # below
===
@partial(jax.tree_map, abs)
def f(x=jax.tree_leaves(1)):
    '''A
    text.
    '''
    return 1
===
x = 1; y = jax.tree_map(abs, x)
def f(): return jax.tree_leaves(1)
===
def f(x):
\tif x:
\t\tx = [
\t\t\tjax.tree_leaves(x),  # kept
\t\t]
\treturn jax.tree_map(abs, x)
===
def f(x):
    return jax.tree_map(lambda one: one + 'ä', {'ä': jax.tree_leaves(x), 'long': [one for one in x if one]}, None)
"""
LAST = """

def last(x):
    return jax.tree_map(abs, x)


# The end."""


@pytest.mark.parametrize("shape", STATEMENTS.split("===\n"))
def test_statements_of_all_shapes_come_out_the_same(shape: str, compared: list[str]) -> None:
    text = HEAD + shape + LAST
    after = fix_files({"main.py": text})["main.py"]
    assert compared == [text]
    assert "tree_map" not in after


def test_neighbours_with_a_definition_between_them_come_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a helper is put before the second of two statements that change, the first part ends between them."""
    monkeypatch.setattr(excerpts, "MOST", 30)
    text = "import jax\n\nx = 1\ndef f(): return x\n\nx = old(1)\nprint(old(2))\n# " + "long " * 10 + "\n"
    tree = ast.parse(text)
    first, second = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "old")
    helper = Define("def new(x):\n    return x", (second,))
    operations: list[Operation] = [Replace(first, code("jax.new")), Replace(second, code("new")), helper]
    after = apply.rewritten(text, operations, Style(), statements=tree.body)
    assert after == apply.rewritten(text, operations, Style())
    assert after.count("print(") == 1


def test_libcst_holds_no_more_than_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "MOST", 2_000)
    body = "    y = {{'a': [{n}, 1, 2], 'b': (3, 4)}}\n    return jax.tree_map(abs, x), y\n"
    text = HEAD + "\n\n".join(f"def f_{n}(x):\n{body.format(n=n)}" for n in range(200))
    parsed: list[int] = []
    parse = cst.parse_module

    def parse_module(source: str) -> cst.Module:
        parsed.append(len(source.replace("\n", "")))
        return parse(source)

    monkeypatch.setattr(cst, "parse_module", parse_module)
    after = fix_files({"main.py": text})["main.py"]
    assert after == text.replace("tree_map", "tree.map")
    assert len(parsed) > 1
    assert max(parsed) < 10_000 < len(text)


def test_a_part_that_begins_with_elif_is_done_with_the_whole() -> None:
    text = f"{HEAD}def f(x):\n    if x:\n        return 1\n    elif jax.tree_map(abs, x):\n        return 2\n"
    after = fix_files({"main.py": text})["main.py"]
    assert after == text.replace("tree_map", "tree.map")
