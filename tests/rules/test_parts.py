"""JM114 and the programs beside it that are right: what is added up first, meant for each device, or of a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """\
from functools import partial
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P
mesh = jax.make_mesh((2, 4), ("data", "model"))
{body}
step = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=({ins}), out_specs={outs}, check_vma=False))
"""
X, ROWS, COLUMNS = 'P("data", "model")', 'P("model", None)', 'P(None, "model")'
LONG = 'P("data", "model", None)'
NORM = """\
class Norm:
    def __init__(self, axis, eps=1e-6):
        self.axis = axis
        self.eps = eps
    def moments(self, x):
        mu = lax.pmean(x.mean(-1), self.axis)
        return mu, lax.pmean((x * x).mean(-1), self.axis) - mu * mu
    def __call__(self, x):
        mu, var = self.moments(x)
        return (x - mu[:, None]) * lax.rsqrt(var + self.eps)[:, None]
"""
WRONG = {
    "an activation": ("def f(x, w):\n    return lax.psum(jax.nn.gelu(x @ w), 'model')", f"{X}, {ROWS}"),
    "with a bias": ("def f(x, w, b):\n    return lax.psum(jnp.tanh(x @ w + b), 'model')", f"{X}, {ROWS}, P()"),
    "a power": ("def f(x, w):\n    return lax.psum(((x @ w) ** 2).sum(-1), 'model')", f"{X}, {ROWS}"),
    "an einsum": (
        "def f(x, w):\n    h = jnp.einsum('bd,df->bf', x, w)\n    return lax.psum(jax.nn.relu(h), 'model')",
        f"{X}, {ROWS}",
    ),
    "in a function": (
        "def mlp(x, w):\n    return jax.nn.silu(x @ w)\ndef f(x, w):\n    return lax.psum(mlp(x, w), 'model')",
        f"{X}, {ROWS}",
    ),
    "a mean of sums": ("def f(x, w):\n    return lax.pmean(x @ w, 'model')", f"{X}, {ROWS}"),
    "a mean of an einsum": (
        "def f(x, w):\n    return lax.pmean(jnp.einsum('bd,df->bf', x, w), 'model')",
        f"{X}, {ROWS}",
    ),
    "a norm": ("def f(x):\n    return x - x.mean(-1, keepdims=True)", X),
    "a norm with a number": (
        "def f(x, s, eps=1e-6):\n    v = jnp.mean(x * x, -1, keepdims=True)\n    return x * lax.rsqrt(v + eps) * s",
        f"{X}, P('model')",
    ),
    "a softmax": ("def f(x):\n    return jax.nn.softmax(x, axis=-1)", X),
    "positions": (
        "def f(x):\n    b, n, d = x.shape\n    pos = jnp.arange(n)[None, :, None]\n    return x + jnp.sin(pos)",
        LONG,
    ),
    "positions by number": (
        "def f(x):\n    positions = jnp.arange(x.shape[1])\n    return x * positions[None, :, None]",
        LONG,
    ),
    "the first rows of what is whole": (
        "def f(x, y):\n    y = y[: x.shape[0]]\n    return lax.psum(((x - y) ** 2).sum(), ('data', 'model'))",
        f"{X}, P()",
    ),
    "the first positions of what is whole": (
        "def f(x, table):\n    n = x.shape[1]\n    return lax.pmean(x + table[0:n], 'model')",
        f"{LONG}, P(None, None)",
    ),
    "a slice of partial sums": (
        (
            "def leave(h):\n    n = h.shape[1] // lax.axis_size('model')\n"
            "    return lax.dynamic_slice_in_dim(h, lax.axis_index('model') * n, n, axis=1)\n"
            "def f(x, w):\n    return leave(x @ w)"
        ),
        f"{X}, {ROWS}",
    ),
    "in the body of a loop": (
        (
            "def f(x, w):\n    def body(_, carry):\n        y, n = carry\n        return jax.nn.relu(y @ w), n + 1\n"
            "    return lax.fori_loop(0, 2, body, (x, 0))[0]"
        ),
        f"{X}, {ROWS}",
    ),
    "in the body of a scan": (
        (
            "def f(x, w):\n    def body(total, row):\n        return total + jnp.tanh(row @ w).sum(), None\n"
            "    return lax.scan(body, 0.0, x)[0]"
        ),
        f'P(None, "data", "model"), {ROWS}',
    ),
    "moments of two": (
        (
            "def moments(x):\n    mu = x.mean(-1)\n    return mu, (x * x).mean(-1) - mu * mu\n"
            "def f(x):\n    mu, var = moments(x)\n    return (x - mu[:, None]) * lax.rsqrt(var + 1e-6)[:, None]"
        ),
        X,
    ),
    "moments of which one is of a block": (
        (
            "def moments(x):\n    mu = lax.pmean(x.mean(-1), 'model')\n    return (mu, jnp.mean(x * x, -1) - mu * mu)\n"
            "def f(x):\n    both = moments(x)\n    mu, var = both\n"
            "    return (x - mu[:, None]) * lax.rsqrt(var + 1e-6)[:, None]"
        ),
        X,
    ),
    "an object's moments along the wrong axis": (f"{NORM}f = Norm('data')", X),
    "a method of an object along the wrong axis": (f"{NORM}f = Norm(axis='data').__call__", X),
    "a dataclass's axis": (
        (
            "import dataclasses\n@dataclasses.dataclass\nclass Norm:\n    axis: str = 'data'\n"
            "    def __call__(self, x):\n        return x - lax.pmean(x.mean(-1, keepdims=True), self.axis)\nf = Norm()"
        ),
        X,
    ),
    "an axis by a partial": (
        "def norm(x, axis):\n    return x - lax.pmean(x.mean(-1, keepdims=True), axis)\nf = partial(norm, axis='data')",
        X,
    ),
}
RIGHT = {
    "the device's rows of what is whole": (
        (
            "def f(x, y):\n    n = x.shape[0]\n    y = lax.dynamic_slice_in_dim(y, lax.axis_index('data') * n, n)[:n]\n"
            "    return lax.psum(((x - y) ** 2).sum(), ('data', 'model'))"
        ),
        f"{X}, P()",
    ),
    "the first columns of a dimension that is whole": (
        "def f(x, table):\n    return x + table[: x.shape[1]]",
        'P("data", None), P()',
    ),
    "rows of what is split": (
        "def f(x, y):\n    return lax.psum(((x - y[: x.shape[0]]) ** 2).sum(), ('data', 'model'))",
        f"{X}, {X}",
    ),
    "a slice of sums": (
        (
            "def f(x, w):\n    h = lax.psum(x @ w, 'model')\n    n = h.shape[1] // lax.axis_size('model')\n"
            "    return lax.dynamic_slice_in_dim(h, lax.axis_index('model') * n, n, axis=1)"
        ),
        f"{X}, {ROWS}",
    ),
    "a slice along another axis": (
        (
            "def f(x, w):\n    n = x.shape[0] // 2\n"
            "    h = lax.dynamic_slice_in_dim(x @ w, lax.axis_index('data') * n, n)\n"
            "    return lax.psum(h, 'model')"
        ),
        f'P(None, "model"), {ROWS}',
    ),
    "added up in the body of a loop": (
        (
            "def f(x, w):\n    def body(_, y):\n        return jax.nn.relu(lax.psum(y @ w, 'model'))\n"
            "    return lax.fori_loop(0, 2, body, x)"
        ),
        f'{X}, P("model", "model")',
    ),
    "moments of two, reduced": (
        (
            "def moments(x):\n    mu = lax.pmean(x.mean(-1), 'model')\n"
            "    return mu, lax.pmean((x * x).mean(-1), 'model') - mu * mu\n"
            "def f(x):\n    mu, var = moments(x)\n    return (x - mu[:, None]) * lax.rsqrt(var + 1e-6)[:, None]"
        ),
        X,
    ),
    "moments of another dimension": (
        (
            "def moments(x):\n    return x.mean(0), x.var(0)\n"
            "def f(x):\n    mu, var = moments(x)\n    return (x - mu) * lax.rsqrt(var + 1e-6)"
        ),
        'P(None, "model")',
    ),
    "an object's moments": (f"{NORM}f = Norm('model')", X),
    "an object that is given its axis later": (f"{NORM}f = Norm('data')\nf.axis = 'model'", X),
    "an axis by a partial": (
        (
            "def norm(x, axis='data'):\n    return x - lax.pmean(x.mean(-1, keepdims=True), axis)\n"
            "f = partial(norm, axis='model')"
        ),
        X,
    ),
    "a method with another object's axis": (
        (
            f"{NORM}class Both:\n    def __init__(self):\n        self.norm = Norm('model')\n"
            "    def __call__(self, x):\n        return self.norm(x)\nf = Both()"
        ),
        X,
    ),
    "added up first": ("def f(x, w):\n    return jax.nn.gelu(lax.psum(x @ w, 'model'))", f"{X}, {ROWS}"),
    "added up by pieces": (
        "def f(x, w):\n    return jax.nn.gelu(lax.psum_scatter(x @ w, 'model', scatter_dimension=1, tiled=True))",
        f"{X}, {ROWS}",
    ),
    "columns": ("def f(x, w):\n    return jax.nn.gelu(x @ w)", f"P('data', None), {COLUMNS}"),
    "columns, then rows": (
        "def f(x, w, v):\n    return lax.psum(jax.nn.gelu(x @ w) @ v, 'model')",
        f"P('data', None), {COLUMNS}, {ROWS}",
    ),
    "gathered first": (
        "def f(x, w):\n    w = lax.all_gather(w, 'model', axis=0, tiled=True)\n    return jax.nn.relu(x @ w)",
        f"P('data', None), {ROWS}",
    ),
    "a linear function": ("def f(x, w):\n    return lax.psum(2.0 * (x @ w) + 0.0, 'model')", f"{X}, {ROWS}"),
    "a sum over another axis": ("def f(x, w):\n    return lax.pmean(x @ w, 'data')", f"P('data', None), {COLUMNS}"),
    "a mean over the batch": (
        "def f(x, e):\n    return lax.pmean(x.T @ e / x.shape[0], 'data')",
        "P('data', None), P('data', None)",
    ),
    "a mean of gradients": (
        "def f(x, e):\n    return lax.pmean(jnp.einsum('bi,bo->io', x, e), 'data')",
        "P('data', None), P('data', None)",
    ),
    "a mean over the batch and tokens": (
        "def f(x, e):\n    return lax.pmean(jnp.einsum('bsi,bso->io', x, e), 'model')",
        f"{LONG}, {LONG}",
    ),
    "one matrix for each expert": (
        "def f(x, w):\n    return jax.nn.relu(jnp.einsum('td,edf->etf', x, w))",
        "P(), P('model', None, None)",
    ),
    "a norm of whole features": ("def f(x):\n    return x - x.mean(-1, keepdims=True)", "P('data', None)"),
    "a norm of all features": (
        "def f(x):\n    m = lax.pmean(x.mean(-1, keepdims=True), 'model')\n    return x - m",
        X,
    ),
    "a norm of each head": ("def f(x):\n    return x - x.mean(-1, keepdims=True)", LONG),
    "statistics of the batch": ("def f(x):\n    return (x - x.mean(0)) / (x.std(0) + 1e-5)", "P('data', None)"),
    "advantages": ("def f(r):\n    return (r - r.mean()) / (r.std() + 1e-8)", "P('data')"),
    "the greatest": ("def f(x):\n    return jnp.exp(x - x.max(-1, keepdims=True))", X),
    "a scale for each block": (
        "def f(x):\n    s = jnp.max(jnp.abs(x), axis=-1, keepdims=True) / 127.0\n    return jnp.round(x / s)",
        X,
    ),
    "attention put together later": (
        (
            "def f(q, k, v):\n    s = q @ k.T\n    m = s.max(-1, keepdims=True)\n    p = jnp.exp(s - m)\n"
            "    top = lax.pmax(m, 'model')\n    den = lax.psum(p.sum(-1, keepdims=True) * jnp.exp(m - top), 'model')\n"
            "    return lax.psum((p @ v) * jnp.exp(m - top), 'model') / den"
        ),
        "P('data', None), P('model', None), P('model', None)",
    ),
    "softmax of each block, weighed later": (
        (
            "def f(s):\n    p = jax.nn.softmax(s, axis=-1)\n    w = jnp.exp(jax.nn.logsumexp(s, -1, keepdims=True))\n"
            "    return p * w / lax.psum(w, 'model')"
        ),
        X,
    ),
    "a sum that stays each device's own": ("def f(x):\n    return x.sum(-1)[:, None]", X),
    "positions that begin where the block does": (
        (
            "def f(x):\n    n = x.shape[1]\n    pos = lax.axis_index('model') * n + jnp.arange(n)\n"
            "    return x * pos[None, :, None]"
        ),
        LONG,
    ),
    "positions along a whole dimension": (
        "def f(x):\n    pos = jnp.arange(x.shape[1])\n    return x * pos[None, :, None]",
        "P('data', None, 'model')",
    ),
    "positions in the block": ("def f(x, i):\n    return x[:, jnp.arange(x.shape[1]), i]", f"{LONG}, P()"),
    "steps of a loop": (
        "def f(x):\n    steps = jnp.arange(x.shape[1])\n    return lax.scan(lambda c, i: (c + i, c), 0, steps)[1]",
        LONG,
    ),
    "positions of the batch": ("def f(x):\n    pos = jnp.arange(x.shape[0])\n    return x[pos]", "P('data', None)"),
}


def codes(body: str, ins: str, outs: str = "P()") -> list[str]:
    text = PROGRAM.format(body=body, ins=ins + ",", outs=outs)
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [finding.code for finding in found if finding.code == "JM114"]


@pytest.mark.parametrize("name", WRONG)
def test_parts_taken_for_the_whole(name: str) -> None:
    assert codes(*WRONG[name]) == ["JM114"]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right(name: str) -> None:
    assert codes(*RIGHT[name]) == []


def test_messages_say_what_to_write() -> None:
    text = PROGRAM.format(body=WRONG["an activation"][0], ins=WRONG["an activation"][1], outs="P()")
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    (one,) = [finding for finding in found if finding.code == "JM114"]
    assert "write jax.lax.psum(x @ w, 'model') before this" in one.message
