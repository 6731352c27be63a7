"""JM111 on blocks that are indexed by the device's index along the dimension that is split, and on whole arrays."""

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

mesh = Mesh(jax.devices(), ("i",))

def body(x, w):
    {body}

f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=({spec}, P()), out_specs=P("i"), check_vma=False))
"""


def codes(body: str, spec: str = "P('i')") -> list[str]:
    text = PROGRAM.format(body=body, spec=spec)
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [finding.code for finding in found if finding.code == "JM111"]


@pytest.mark.parametrize(
    "body",
    [
        "return x[lax.axis_index('i')] * w",
        "n = lax.axis_index('i')\n    return x[n, :2] * w",
        "return lax.dynamic_index_in_dim(x, lax.axis_index('i')) * w",
        "return jnp.take(x, lax.axis_index('i'), axis=0) * w",
    ],
)
def test_a_part_is_divided_again(body: str) -> None:
    assert codes(body) == ["JM111"]
    assert codes(body, "P()") == []
    assert codes(body, "P(None, None, 'i')") == []


@pytest.mark.parametrize(
    "body",
    [
        "return x[0] * w",
        "return w[lax.axis_index('i')] * x",
        "return lax.all_gather(x, 'i')[lax.axis_index('i')] * w",
        "return x.reshape((8, -1))[lax.axis_index('i')] * w",
        "return jnp.take(x, lax.axis_index('i')) * w",
        "x = lax.psum(x, 'i')\n    return x[lax.axis_index('i')] * w",
        "return x[lax.axis_index('j')] * w",
        "return x[:, lax.axis_index('i')] * w",
    ],
)
def test_what_is_no_part_of_it(body: str) -> None:
    assert codes(body) == []
