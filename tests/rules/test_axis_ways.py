"""Every way in which Python, JAX and flax lead from a map to a collective, and bring it the name of its axis.

`axis_ways.txt` has one on each line: what stands in the module, ` ### `, and an expression of the mapped function;
`\\n` is a line's end, AX the name. JM101 has to tell of a name that the map does not bind, and of no other.
"""

from __future__ import annotations

import pytest

from tests.rules.ways import codes, ways

WAYS = ways("axis_ways.txt")
PROGRAM = """import dataclasses, enum, functools, types
from typing import Any, NamedTuple
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax import lax

{before}

def step(x):
    y = {inside}
    return y

p_step = jax.pmap(step, axis_name="batch")
"""


@pytest.mark.parametrize("way", WAYS)
def test_the_name_of_an_axis_is_followed(way: str) -> None:
    assert codes(PROGRAM, way.replace("AX", '"device"'), "JM1") == {"JM101"}
    assert codes(PROGRAM, way.replace("AX", '"batch"'), "JM1") == set()
