"""JM209 in more forms than its example has, and the loops that JAX accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.findings import Finding
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("data",))

def body(x, w):
    {body}

f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"){more}))
"""
SCAN = "return lax.scan(lambda c, row: (c + row, None), {}, x)[0]"


def told(text: str) -> list[Finding]:
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [finding for finding in found if finding.code == "JM209"]


def codes(body: str, more: str = "") -> list[str]:
    return [finding.code for finding in told(PROGRAM.format(body=body, more=more))]


def test_message_names_the_axes() -> None:
    text = PROGRAM.format(body=SCAN.format("0.0"), more="")
    assert [finding.message.rpartition("; ")[2] for finding in told(text)] == [
        "start from jax.lax.pcast(0.0, 'data', to='varying')"
    ]
    of_two = text.replace('Mesh(jax.devices(), ("data",))', 'jax.make_mesh((2, 4), ("data", "model"))')
    of_two = of_two.replace('(P("data"), P())', '(P(("data", "model")), P())')
    assert [finding.message.rpartition("; ")[2] for finding in told(of_two)] == [
        "start from jax.lax.pcast(0.0, ('data', 'model'), to='varying')"
    ]


@pytest.mark.parametrize(
    "start",
    ["jnp.zeros((2,))", "jnp.zeros(x.shape[1:], x.dtype)", "0.0", "-1.0", "jnp.full((2,), -jnp.inf)", "jnp.float32(0)"],
)
def test_new_arrays(start: str) -> None:
    assert codes(SCAN.format(start)) == ["JM209"]
    assert codes(f"start = {start}\n    " + SCAN.format("start")) == ["JM209"]
    assert codes(SCAN.format(start), ", check_vma=False") == []


@pytest.mark.parametrize(
    "start",
    [
        "jnp.zeros_like(x[0])",
        "x[0] * 0",
        "lax.pcast(jnp.zeros((2,)), 'data', to='varying')",
        "lax.pvary(jnp.zeros((2,)), 'data')",
        "jnp.full((2,), x[0, 0])",
        "jnp.asarray(x[0])",
        "jnp.zeros_like(lax.pcast(w, 'data', to='varying'))",
        "jnp.full_like(x[0], 2.0)",
        "jax.tree.map(jnp.zeros_like, x[0])",
        "lax.all_gather(x, 'data', tiled=True)[0]",
        "lax.pcast(w, 'data', to='varying') if w.size > 8 else w * 1",
        "lax.pcast((w, 1), 'data', to='varying')[0]",
        "make(x)",
    ],
)
def test_starts_that_vary(start: str) -> None:
    assert codes(SCAN.format(start)) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return lax.fori_loop(0, 3, lambda i, c: c + x[0], jnp.zeros((2,)))", 1),
        ("return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + x[0]), (0, jnp.zeros((2,))))[1]", 1),
        ("return lax.scan(lambda c, r: ((c[0] + r, c[1] + 1), None), (jnp.zeros((2,)), 0), x)[0][0]", 1),
        ("return lax.scan(f=lambda c, r: (c + r, None), init=jnp.zeros((2,)), xs=x)[0]", 1),
        ("return lax.scan(lambda c, r: (c + r, None), w, x)[0]", 1),
        ("return lax.scan(lambda c, r: (c + r, None), jnp.zeros_like(w), x)[0]", 1),
        ("return lax.scan(lambda c, r: ({'s': c['s'] + r, 'n': c['n'] + 1}, None), {'s': w, 'n': 0}, x)[0]['s']", 1),
        ("m = jnp.zeros(2); (m, _), _ = lax.scan(lambda c, r: ((c[0] + r, c[1]), None), (m, w), x); return m", 1),
        ("z = jax.tree.map(lambda a: jnp.zeros(a.shape), w); return lax.scan(lambda c, r: (c + r, None), z, x)[0]", 1),
        ("return x + lax.scan(lambda c, r: (c + r, None), jnp.zeros((2,)), w)[0]", 0),
        ("return lax.scan(lambda c, r: (c + lax.psum(r, 'data'), None), jnp.zeros((2,)), x)[0]", 0),
        ("return lax.fori_loop(0, 3, lambda i, c: c + 1, jnp.zeros((2,))) + x", 0),
    ],
)
def test_loops(body: str, expected: int) -> None:
    assert len(codes(body)) == expected


def test_specs_put_together_are_read() -> None:
    text = PROGRAM.format(body=SCAN.format("w"), more="").replace('(P("data"), P())', '(P("data"),) + (P(),) * 1')
    assert len(told(text)) == 1
    assert told(text.replace("(P(),) * 1", '1 * (P("data"),)')) == []


def test_the_older_shard_map_refuses_them_since_it_is_made_of_the_new_one() -> None:
    text = PROGRAM.format(body=SCAN.format("0.0"), more="").replace("jax.shard_map(", "shard_map(")
    text = text.replace("import jax\n", "import jax\nfrom jax.experimental.shard_map import shard_map\n", 1)
    assert ["which JAX refuses since jax 0.6" in finding.message for finding in told(text)] == [True]
    assert told(text.replace('out_specs=P("data")', 'out_specs=P("data"), check_rep=False')) == []
