"""The function around a mapped one has those of its defaults that pass the map as they are."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.migrate import fix_files

HEAD = """from functools import partial

import jax


@partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(STATIC,))
def step(PARAMETERS):
    return jax.lax.pmean(x, "batch")


print(step(GIVEN))
"""


@pytest.mark.parametrize(
    ("parameters", "static", "given", "kept"),
    [
        ("x, kind='a'", "1", "x, 'b'", "'a'"),
        ("x, kind: str = 'a', rngs=None", "1", "x, 'b', rngs", "'a', None"),
        ("x, rate=0.5, rngs=None", "", "x, rate, rngs", "None"),
        ("x, kind='a', rate=0.5", "1", "x, 'b', rate", ""),
        ("x, kind=KIND", "1", "x, 'b'", ""),
        ("x, kind='a', rate=0.5", "1", "x, 'b'", "'a'"),
    ],
)
def test_static_ones_and_none_stay(parameters: str, static: str, given: str, kept: str) -> None:
    text = HEAD.replace("STATIC,", static and f"{static},").replace("PARAMETERS", parameters).replace("GIVEN", given)
    after = ast.parse(fix_files({"main.py": text}, layout="auto")["main.py"])
    outer = next(one for one in after.body if isinstance(one, ast.FunctionDef) and one.name == "step")
    assert ", ".join(map(ast.unparse, outer.args.defaults)) == kept
