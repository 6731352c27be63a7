"""JM110 where other code says how many dimensions an array has: functions that are called, layers, what is passed."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """\
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((2, 4), ("data", "model"))
{body}
step = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=({ins},), out_specs={outs}, check_vma=False))
{calls}
"""


def codes(body: str, ins: str, outs: str = "P()", calls: str = "") -> list[str]:
    text = PROGRAM.format(body=body, ins=ins, outs=outs, calls=calls)
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [finding.code for finding in found if finding.code == "JM110"]


CALLED = {  # how the function whose body says how many dimensions an array has is called
    "by position": "inner(x, y)",
    "by keyword": "inner(y=y, x=x)",
    "below a checkpoint": "jax.checkpoint(inner)(x, y)",
    "below a jit": "jax.jit(inner)(x, y)",
}


@pytest.mark.parametrize("call", CALLED)
@pytest.mark.parametrize(
    ("ins", "outs", "told"),
    [
        ("P('data', None), P('data')", "P()", []),
        ("P('data', None, None), P('data')", "P()", ["JM110"]),
        ("P('data', None), P('data')", "P(None)", ["JM110"]),
    ],
)
def test_functions_that_are_called_say_how_many_dimensions_there_are(
    call: str, ins: str, outs: str, told: list[str]
) -> None:
    inner = "def inner(x, y):\n    batch, width = x.shape\n    return lax.psum(jnp.sum(x * y[:, None]), 'data')\n"
    assert codes(f"{inner}def f(x, y):\n    return {CALLED[call]}", ins, outs) == told


@pytest.mark.parametrize(("spec", "told"), [('P("data", "model")', []), ('P("data", None, "model")', ["JM110"])])
@pytest.mark.parametrize("layer", ["nn.Dense(8)(x)", "nn.LayerNorm()(nn.Dense(8)(x))", "nn.Dropout(0.1)(x)"])
def test_layers_keep_the_number_of_dimensions(layer: str, spec: str, told: list[str]) -> None:
    text = f"""\
class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        batch, width = x.shape
        h = {layer}
        return lax.with_sharding_constraint(h, NamedSharding(mesh, {spec}))
def f(x):
    return x
"""
    assert codes(text, "P('data')", "P('data')") == told


def test_a_layer_that_changes_it_says_nothing() -> None:
    text = """\
class Block(nn.Module):
    @nn.compact
    def __call__(self, ids):
        batch, length = ids.shape
        h = nn.Embed(8, 16)(ids)
        return lax.with_sharding_constraint(h, NamedSharding(mesh, P("data", None, "model")))
def f(x):
    return x
"""
    assert codes(text, "P('data')", "P('data')") == []


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ("rng = np.random.default_rng(0)\nstep(rng.normal(size=(8, 4)))", []),
        ("rng = np.random.default_rng(0)\nstep(rng.normal(size=(8,)))", ["JM110"]),
        ("step(jnp.zeros((8, 4)))\nstep(jnp.zeros((8,)))", []),  # of unlike calls nothing is known
        ("", []),
    ],
)
def test_what_is_passed_says_how_many_dimensions_the_result_has(calls: str, told: list[str]) -> None:
    assert codes("def f(x):\n    return 2.0 * x", "P('data')", "P('data', None)", calls) == told
