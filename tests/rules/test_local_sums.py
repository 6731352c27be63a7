"""JM114: sums, means and ratios of one device's block, and how devices put them together, rightly and wrongly."""

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

mesh = jax.make_mesh((4, 2), ("data", "feat"))

def moments(x, axis_name="data"):
    n = x.shape[0]
    return lax.psum(x.sum(0), axis_name) / n

def body(x, mask, w):
    {body}

f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=(P("data", "feat"), P("data"), P("feat")), out_specs=P("data")))
f(jnp.ones((8, 4)), jnp.ones(8), jnp.ones(4))
"""

MEAN = "m = lax.pmean(x.mean(-1), 'feat'); "
HALF = MEAN + "s = (x * x).mean(-1); return (x - m[:, None]) * lax.rsqrt(s - m * m)[:, None]"
WHOLE = HALF.replace("(x * x).mean(-1)", "lax.pmean((x * x).mean(-1), 'feat')")
SPREAD = "v = lax.pmean(x.var(-1) + (x.mean(-1) - m) ** 2, 'feat'); "
PARALLEL = MEAN + SPREAD + "return (x - m[:, None]) * lax.rsqrt(v)[:, None]"


def told(body: str) -> list[str]:
    text = PROGRAM.format(body=body)
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [one.message for one in found if one.code == "JM114"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return lax.psum(x.sum(0), 'data') / x.shape[0]", "length of one block"),
        ("return x - moments(x)", "length of one block"),
        ("return lax.psum(jnp.sum(mask), 'data') / mask.shape[0]", "length of one block"),
        ("return lax.pmean((x[:, 0] * mask).sum() / mask.sum(), 'data')", "ratios are put together"),
        ("return lax.psum(g(x).sum() / jnp.maximum(mask.sum(), 1), 'data')", "ratios are put together"),
        ("s = {'a': x.sum() / mask.sum(), 'n': mask.max()}; return lax.pmean(s, 'data')", "ratios are put together"),
        ("s = {'a': x.sum() / mask.sum()}; return lax.pmean(s['a'], 'data')", "ratios are put together"),
        ("n = mask.sum() * 4; return lax.psum(x.sum() / n, 'data')", "ratios are put together"),
        (
            "n = mask.sum(); l, g = jax.value_and_grad(lambda w: (x * w).sum() / n)(w); return lax.psum(l, 'data')",
            "ratio",
        ),
        ("return x - lax.psum(x.mean(-1, keepdims=True), 'feat')", "psum of the means"),
        ("return jnp.log(lax.pmean(jnp.exp(x).sum(-1), 'feat'))", "write psum"),
        ("m = lax.pmax(x.max(-1), 'feat'); return lax.pmean(jnp.exp(x - m[:, None]).sum(-1), 'feat')", "write psum"),
        ("return lax.psum(x @ w, ('data', 'feat'))", "adds up different parts"),
        (
            HALF,
            "reduce both",
        ),
    ],
)
def test_wrong(body: str, said: str) -> None:
    messages = told(body)
    assert messages
    assert all(said in one for one in messages)


@pytest.mark.parametrize(
    "body",
    [
        "return lax.psum(x.sum(0), 'data') / (x.shape[0] * lax.axis_size('data'))",
        "return lax.psum(x.sum(0), 'data') / lax.psum(x.shape[0], 'data')",
        "t = lax.psum(x.sum(0), 'data') / x.shape[0]; return t / lax.axis_size('data')",
        "return lax.psum((x @ w).sum(0), 'feat') / x.shape[0]",
        "return moments(x, 'feat')",
        "return lax.psum((x[:, 0] * mask).sum(), 'data') / lax.psum(mask.sum(), 'data')",
        "n = lax.psum(mask.sum(), 'data'); return lax.psum(x.sum() / n, 'data')",
        "n = mask.sum(); m = x.sum() / n; return lax.psum(m * n, 'data') / lax.psum(n, 'data')",
        "return lax.pmean(x.sum() / x.shape[0], 'data')",
        "return lax.pmean(x.sum() / mask.max(), 'data')",
        "return lax.pmean(mask.sum() / 4, 'data')",
        "return lax.pmean(x / jnp.exp(x).sum(0), 'feat')",
        "return x - lax.pmean(x.mean(-1, keepdims=True), 'feat')",
        "return x - lax.psum(x.mean(-1, keepdims=True), 'feat') / lax.axis_size('feat')",
        "return jnp.log(lax.psum(jnp.exp(x).sum(-1), 'feat'))",
        "return lax.pmean(jnp.square(x).sum(0), 'data')",
        "return lax.psum(x @ w, 'feat')",
        "return lax.psum((x @ w).sum(), ('data', 'feat'))",
        "return lax.psum(jnp.sum(x * x), ('data', 'feat'))",
        PARALLEL,
        WHOLE,
    ],
)
def test_right(body: str) -> None:
    assert told(body) == []
