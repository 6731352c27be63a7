"""Every way in which a body lets a predicate decide whether a collective runs: JM301 tells of one that differs.

`divergence_ways.txt` has one on each line: what stands in the module, ` ### `, and an expression of the mapped
function; `\\n` is a line's end, V what the predicate depends on, C a function that sums over the devices.
"""

from __future__ import annotations

import re

import pytest

from tests.rules.ways import codes, ways

WAYS = ways("divergence_ways.txt")
PROGRAM = """import collections, functools
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax import lax

def C(y):
    return lax.psum(y, "batch")

{before}

def step(x):
    return {inside}

p_step = jax.pmap(step, axis_name="batch")
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_predicate_is_followed(way: str) -> None:
    unlike = re.sub(r"\bV\b", "jnp.float32(lax.axis_index('batch'))", way)
    alike = re.sub(r"\bV\b", "lax.pmean(x.sum(), 'batch')", way)
    assert codes(PROGRAM, unlike, "JM1", "JM2", "JM3") == {"JM301"}
    assert codes(PROGRAM, alike, "JM1", "JM2", "JM3") == set()
