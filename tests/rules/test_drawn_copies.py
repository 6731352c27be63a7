"""JM205 of parts of a result, and JM301 of loops whose end differs after the first round; each ran on 8 devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

HEAD = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
"""
DRAWN = """
def init(key):
    {body}

f = jax.jit(jax.shard_map(init, mesh=mesh, in_specs=P(), out_specs={specs}, check_vma=False))
"""


def codes(text: str) -> set[str]:
    return {one.code for one in lint([decode((HEAD + text).encode(), "a.py", Path("/project/a.py"))], Config())}


@pytest.mark.parametrize(
    ("body", "specs", "expected"),
    [
        ("return jax.random.normal(key, (8, 4)), jnp.zeros(4)", '(P(None, "model"), P())', True),
        ("return {'w': jax.random.normal(key, (8, 4)), 'b': jnp.zeros(4)}", '{"w": P(None, "model"), "b": P()}', True),
        ("return jax.random.normal(jax.random.split(key, 8)[0], (8, 4))", 'P("data")', True),
        ("return jax.random.normal(key, (8, 4)), jnp.zeros((1, 4))", '(P(), P("data"))', False),
        (
            "key = jax.random.fold_in(key, lax.axis_index('model')); return jax.random.normal(key, (8, 4)), 1.0",
            '(P(None, "model"), P())',
            False,
        ),
        (
            "return jax.random.normal(jax.random.split(key, 4)[lax.axis_index('data')], (8, 4)), key",
            '(P("data"), P())',
            False,
        ),
    ],
)
def test_drawn(body: str, specs: str, expected: bool) -> None:
    assert ("JM205" in codes(DRAWN.format(body=body, specs=specs))) == expected


HANDED_ON = """
def chain(key, x):
    return x + jax.random.normal(key, x.shape)

def sample(key):
    mine = {mine}
    return chain(mine, jnp.zeros(4))

f = jax.jit(jax.shard_map(sample, mesh=mesh, in_specs=P(), out_specs=P("data"), check_vma=False))
"""


def test_drawn_copies_are_told_where_the_key_is_handed_on() -> None:
    text = HEAD + HANDED_ON.format(mine="jax.random.split(key, 8)[0]")
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    assert [(one.code, text.splitlines()[one.line - 1].strip()) for one in found if one.code == "JM205"] == [
        ("JM205", "mine = jax.random.split(key, 8)[0]")
    ]
    own = HANDED_ON.format(mine="jax.random.split(key, 4)[jax.lax.axis_index('data')]")
    assert "JM205" not in codes(own)


STREAMS = """
from flax import nnx

def forward(key, x):
    {before}
    return nnx.Dropout(0.5, deterministic=False)(x, rngs=nnx.Rngs({streams}))

f = jax.jit(jax.shard_map(forward, mesh=mesh, in_specs=(P(), P("data")), out_specs=P("data"), check_vma=False))
"""


@pytest.mark.parametrize(
    ("before", "streams", "expected"),
    [
        ("pass", "dropout=key", True),
        ("pass", "params=key", False),
        ("pass", "dropout=0", False),
        ("key = jax.random.fold_in(key, lax.axis_index('data'))", "dropout=key", False),
    ],
)
def test_streams_of_networks(before: str, streams: str, expected: bool) -> None:
    assert ("JM205" in codes(STREAMS.format(before=before, streams=streams))) == expected


LOOP = """
def solve(a, x):
    def body(c):
        x, _, n = c
        y = a @ x
        return lax.psum(y.sum(), "data") * x, {error}, n + 1
    return lax.while_loop(lambda c: {test}, body, (x, jnp.inf, 0))[0]

f = jax.jit(jax.shard_map(solve, mesh=mesh, in_specs=(P("data"), P()), out_specs=P(), check_vma=False))
"""


@pytest.mark.parametrize(
    ("error", "test", "expected"),
    [
        ("jnp.abs(y).max()", "c[1] > 0.5", True),
        ("jnp.abs(y).max()", "(c[1] > 0.5) & (c[2] < 9)", True),
        ('lax.pmax(jnp.abs(y).max(), "data")', "(c[1] > 0.5) & (c[2] < 9)", False),
        ("jnp.abs(y).max()", "c[2] < 9", False),
    ],
)
def test_loops(error: str, test: str, expected: bool) -> None:
    assert ("JM301" in codes(LOOP.format(error=error, test=test))) == expected
