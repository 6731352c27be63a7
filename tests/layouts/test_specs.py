"""How the specs of a map with many arguments and outputs are written."""

from __future__ import annotations

import ast

from tests.layouts.running import plan
from tests.layouts.table import provable

WIDE = """
import jax
from flax import jax_utils
from jax.sharding import Mesh as P

def step(w, {names}):
    return w + jax.lax.pmean(a0 * a11, "batch"), a0

p_step = jax.pmap(step, axis_name="batch", in_axes=(0{nones}))
w = jax_utils.replicate(1.0)
w, _ = p_step(w, {ones})
print(w[0])
"""


def test_specs_that_do_not_fit_are_on_several_lines() -> None:
    names = ", ".join(f"a{i}" for i in range(12))
    text = WIDE.format(names=names, nones=", None" * 12, ones=", ".join(["2.0"] * 12))
    (after,) = [file.after for file in plan({"main.py": text}).files]
    call = next(
        n for n in ast.walk(ast.parse(after)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "_shard_map"
    )
    lines = after.splitlines()[call.lineno - 1 : call.end_lineno]
    assert max(map(len, lines)) <= 88
    (specs,) = [k.value for k in call.keywords if k.arg == "in_specs"]
    assert isinstance(specs, ast.Tuple)
    assert specs.end_lineno is not None
    assert len(specs.elts) == 13
    assert specs.end_lineno - specs.lineno == 5


def test_outputs_that_are_alike_have_one_spec() -> None:
    (after,) = [file.after for file in plan(provable()["many_outputs"]).files]
    specs = [
        ast.unparse(k.value)
        for n in ast.walk(ast.parse(after))
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "_shard_map"
        for k in n.keywords
        if k.arg in ("out_specs", "stacked_outputs")
    ]
    assert specs == ["P('rays')", "True", "P()", "P('rays')", "True"]
