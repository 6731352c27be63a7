"""JM202 of sums that psum_scatter sums again, and of one entry of a dictionary; and right ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "tp"))

def body(x, w):
    {body}

f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=(P("data", "tp"), P("tp")), out_specs=P(), check_vma=False))
"""


def codes(body: str) -> list[str]:
    text = PROGRAM.format(body=body)
    return [one.code for one in lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = lax.psum(x @ w, 'tp'); return lax.psum_scatter(y, 'tp', scatter_dimension=0, tiled=True)", True),
        ("return lax.psum_scatter(x @ w, 'tp', scatter_dimension=0, tiled=True)", False),
        ("y = lax.psum(x @ w, 'tp') / lax.axis_size('tp'); return lax.psum_scatter(y, 'tp', tiled=True)", False),
        ("y = lax.psum(x @ w, 'data'); return lax.psum_scatter(y, 'tp', tiled=True)", False),
        ("s = {'hits': lax.psum(x.sum(), 'data'), 'seen': w.sum() + x.max()}; return lax.psum(s, 'data')", True),
        ("s = {'hits': x.sum(), 'seen': w.sum() + x.max()}; return lax.psum(s, 'data')", False),
        ("s = {'hits': lax.psum(x.sum(), 'tp'), 'seen': x.max()}; return lax.psum(s, 'data')", False),
        ("s = {'hits': lax.psum(x.sum(), 'data'), 'seen': x.max()}; return lax.pmean(s, 'data')", False),
    ],
)
def test_sums(body: str, expected: bool) -> None:
    assert ("JM202" in codes(body)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("lax.pmean(x.mean(), 'data') / n", True),
        ("0.1 * (lax.pmean(x.mean(), 'data') / n)", True),
        ("jax.tree.map(lambda a: a / n, lax.pmean({'w': x.sum()}, 'data'))", True),
        ("lax.psum_scatter(lax.pmean(x, 'data') / n, 'data', tiled=True)", False),
        ("lax.pmean(x.mean(), 'data') / n * n", False),
        ("lax.psum(x.mean(), 'data') / n", False),
    ],
)
def test_means_divided_once_more(value: str, expected: bool) -> None:
    assert ("JM202" in codes(f"n = lax.axis_size('data'); return {value}")) == expected
