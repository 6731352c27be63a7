"""JM113 in more forms than its examples have, and the numbers of devices that belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """
import jax
from jax import lax

def body(x, steps):
    n, m = {sizes}
    {body}
"""
SIZES = ("lax.axis_size('a'), lax.axis_size('b')", "lax.psum(1, 'a'), lax.psum(1, axis_name='b')")
RING = "[(i, (i + 1) % {0}) for i in range({0})]"

TWICE = "y = lax.ppermute(lax.ppermute(x, 'a', p), 'a', p)\n    return lax.ppermute(y, 'b', p)"
PART = "size = x.shape[0] // m\n    return lax.dynamic_slice(x, (size * i,), (size,))"


def codes(text: str) -> list[str]:
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [finding.code for finding in found if finding.code == "JM113"]


def program(body: str, sizes: str) -> str:
    """A program in which n is the number of devices along a, m that along b."""
    text = PROGRAM.format(sizes=sizes, body=body)
    one, other = sizes.split("), ", 1)
    return text.replace(f"n, m = {sizes}", f"n = {one})\n    m = {other}")


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"return lax.ppermute(x, 'b', {RING.format('n')})", 1),
        (f"perm = {RING.format('n')}\n    return lax.ppermute(x, axis_name='b', perm=perm)", 1),
        (f"return lax.ppermute(x, 'a', {RING.format('n')})", 0),
        (f"return lax.ppermute(x, ('a', 'b'), {RING.format('n * m')})", 0),
        (f"return lax.ppermute(x, 'b', {RING.format('steps')})", 0),
        # as often along the one as along the other: of a square mesh
        (f"p = {RING.format('n')}\n    return lax.ppermute(x, 'a', p) @ lax.ppermute(x, 'b', p)", 0),
        (f"p = {RING.format('n')}\n    {TWICE}", 1),
        ("return lax.dynamic_slice_in_dim(x, lax.axis_index('a') * (64 // m), 64 // m)", 1),
        (f"i = lax.axis_index('a')\n    {PART}", 1),
        (f"i = lax.axis_index('b')\n    {PART}", 0),
        ("return lax.axis_index('a') * m + lax.axis_index('b')", 0),
        ("return lax.axis_index('a') * (64 // n) + lax.axis_index('b') * (64 // (n * m))", 0),
        ("return lax.axis_index('a') * (64 // steps)", 0),
    ],
)  # fmt: skip
def test_forms(body: str, sizes: str, told: int) -> None:
    assert len(codes(program(body, sizes))) == told
