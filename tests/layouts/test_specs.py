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


def test_many_specs_that_are_alike_are_said_once_and_lines_fit() -> None:
    names = ", ".join(f"a{i}" for i in range(12))
    text = WIDE.format(names=names, nones=", None" * 12, ones=", ".join(["2.0"] * 12))
    (after,) = [file.after for file in plan({"main.py": text}).files]
    (call,) = _maps(after)
    lines = after.splitlines()[call.lineno - 1 : call.end_lineno]
    assert max(map(len, lines)) <= 88
    assert _specs(call)["in_specs"] == "PartitionSpec()"
    assert _specs(call)["out_specs"] == "(PartitionSpec('batch'), PartitionSpec())"


def test_many_specs_of_two_kinds_are_counted() -> None:
    names = ", ".join(f"a{i}" for i in range(12))
    given = ", ".join([*["2.0"] * 11, "jax.numpy.arange(8.0)"])
    text = WIDE.format(names=names, nones=", None" * 11 + ", 0", ones=given)
    (after,) = [file.after for file in plan({"main.py": text}).files]
    (call,) = _maps(after)
    assert _specs(call)["in_specs"] == "(PartitionSpec(),) * 12 + (PartitionSpec('batch'),)"


def test_specs_that_differ_and_do_not_fit_are_on_several_lines() -> None:
    names = ", ".join(f"a{i}" for i in range(12))
    given = ", ".join(["2.0", "jax.numpy.arange(8.0)"] * 6)
    text = WIDE.format(names=names, nones=", None, 0" * 6, ones=given)
    (after,) = [file.after for file in plan({"main.py": text}).files]
    (call,) = _maps(after)
    lines = after.splitlines()[call.lineno - 1 : call.end_lineno]
    assert max(map(len, lines)) <= 88
    (specs,) = [k.value for k in call.keywords if k.arg == "in_specs"]
    assert isinstance(specs, ast.Tuple)
    kinds = ["PartitionSpec()", *["PartitionSpec()", "PartitionSpec('batch')"] * 6]
    assert [ast.unparse(e) for e in specs.elts] == kinds
    assert [e.lineno - specs.lineno for e in specs.elts] == [*range(1, 14)]


def test_outputs_that_are_alike_have_one_spec() -> None:
    (after,) = [file.after for file in plan(provable()["many_outputs"]).files]
    assert [_specs(call)["out_specs"] for call in _maps(after)] == ["P('rays')", "P()", "P('rays')"]


def _maps(text: str) -> list[ast.Call]:
    calls = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call))
    return sorted((n for n in calls if ast.unparse(n.func) == "jax.shard_map"), key=lambda n: n.lineno)


def _specs(call: ast.Call) -> dict[str | None, str]:
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
