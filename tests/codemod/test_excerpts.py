"""A long file is rewritten part by part: the text is the same, and LibCST never holds more than a part of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import libcst as cst
import pytest

from jaxmigrate.codemod import apply, excerpts
from jaxmigrate.codemod.style import Style
from jaxmigrate.migrate import fix_files
from jaxmigrate.program.operations import (
    After,
    Before,
    Define,
    DropStatement,
    Enclose,
    First,
    Import,
    Operation,
    Replace,
    ReplaceStatement,
    code,
)

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


def rewritten_sizes(monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[str, list[int]]:
    """What fix makes of a text, and how many characters LibCST parsed of the file at a time."""
    parsed: list[int] = []
    parse = cst.parse_module

    def parse_module(source: str, config: cst.PartialParserConfig | None = None) -> cst.Module:
        if config is not None:  # of new code
            return parse(source, config)
        parsed.append(len(source.replace("\n", "")))
        return parse(source)

    monkeypatch.setattr(cst, "parse_module", parse_module)
    return fix_files({"main.py": text})["main.py"], parsed


def test_libcst_holds_no_more_than_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "MOST", 2_000)
    body = "    y = {{'a': [{n}, 1, 2], 'b': (3, 4)}}\n    return jax.tree_map(abs, x), y\n"
    text = HEAD + "\n\n".join(f"def f_{n}(x):\n{body.format(n=n)}" for n in range(200))
    after, parsed = rewritten_sizes(monkeypatch, text)
    assert after == text.replace("tree_map", "tree.map")
    assert len(parsed) > 1
    assert max(parsed) < 10_000 < len(text)


NESTED = """\
import jax


def outer(x):
    '''A docstring.'''

    # about inner
    def inner(y):
        return [
            y,
            old(y),
        ]

    if x:
        one = 1
        two = 2
        three = 3
        # behind three

    elif old(x):
        while x:
            x = old(x)
            # behind the loop
        # behind elif
    else:
        try:
            import os
            from jax import numpy
            four = 4
            five = 5; six = old(6)
        except ValueError as error:
            print(error)
            print(old(error))

            raise
        finally:
            print(
                1,
                2,
                3,
            )  # behind print
            # below print
    match x:
        case 1:
            for y in old(x):
                print(y)
                print(y)
                print(y)
            # behind for
            return old(1)
        case _:
            return 2


class A:
    '''A docstring.'''
    @old
    def first(self):
        def last(x):
            return 1

            return old(2)
        # behind last

        # about the return
        return last

    text = '''
    a text
    ä
    '''

    def second(self): return old(self)
    # behind second

    async def third(self):
        async with old(self) as one, self as two:
            await one
            await two
            await two
            # a
          # b
        # c
    # d
# e

  # f
table = [
    1,
    old(2),
]
if table:
    print(table)
    print(old(table))
    print(table)
    print(table)
"""
NEW = "one = 1\ntwo = 2"


def operations_on(node: ast.AST) -> Iterator[list[Operation]]:
    """What a plan may do at a node."""
    if isinstance(node, ast.Name) and node.id == "old":
        yield [Replace(node, code("jax.new"))]
    if not isinstance(node, ast.stmt) or NESTED.splitlines()[node.lineno - 1].strip().startswith("elif"):
        return
    yield [DropStatement(node, commented=True)]
    yield [Before(node, code(NEW))]
    yield [DropStatement(node)]
    yield [After(node, code(NEW))]
    yield [ReplaceStatement(node, code(NEW))]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield [First(node, code(NEW))]
        yield [Enclose(node, code("def new(x):\n    return 1"), "old_one", (), ())]
        yield [First(node, code(NEW)), Define("def helper(x):\n    return x", (node,)), Import("jax", "lax")]
    if isinstance(node, ast.ClassDef):
        yield [Define(ast.unparse(node), (node,)), Import("jax", "lax", uses=(node,))]


@pytest.mark.parametrize("share", [5, pytest.param(1, marks=pytest.mark.long)])
def test_every_operation_on_every_statement_comes_out_the_same(share: int, compared: list[str]) -> None:
    tree = ast.parse(NESTED)
    wanted = [found for node in ast.walk(tree) for found in operations_on(node)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "old"]
    wanted += [[Replace(one, code("jax.new")), Before(tree.body[-1], code(NEW))] for one in calls]
    for operations in wanted[::share]:
        apply.rewritten(NESTED, operations, Style(), statements=tree.body)
    assert len(compared) == len(wanted[::share]) > 200 // share


def test_statements_of_a_function_that_stay_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"    y = {{'a': [{n}, 1, 2], 'b': (3, 4)}}\n" for n in range(200))
    text = f"import jax\n\n\ndef f(x):\n    n = jax.local_device_count()\n{lines}    return jax.pmap(abs)(x), n, y\n"
    after, parsed = rewritten_sizes(monkeypatch, text)
    assert lines in after
    assert "shard_map" in after
    assert max(parsed) < len(text) / 4


def test_a_part_begins_with_no_elif(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"    y = {{'a': [{n}, 1, 2], 'b': (3, 4)}}\n" for n in range(200))
    text = f"{HEAD}def f(x):\n{lines}    if x:\n        return 1\n    elif jax.tree_map(abs, x):\n        return 2\n"
    after, parsed = rewritten_sizes(monkeypatch, text)
    assert after == text.replace("tree_map", "tree.map")
    assert max(parsed) < len(text) / 4
