"""Every way in which a program reduces its gradients before they are applied: JM201 is silent on each, and not without.

`reduction_ways.txt` has one on each line: what stands in the module, ` ### `, and a statement of the mapped function;
`\\n` is a line's end, PM the reduction.
"""

from __future__ import annotations

import pytest

from tests.rules.ways import codes, ways

WAYS = ways("reduction_ways.txt")
PROGRAM = """import collections, copy, functools
from typing import Any
import jax
import jax.flatten_util
import jax.numpy as jnp
import optax
from flax import jax_utils, struct
from jax import lax

{before}

def kept(x, axis_name=None):
    return x

def step(state, x):
    def loss_fn(p):
        return jnp.mean((x @ p) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    {inside}
    return state.apply_gradients(grads=grads), lax.pmean(loss, "batch")

p_step = jax.pmap(step, axis_name="batch")

def main(state, batches):
    state = jax_utils.replicate(state)
    for b in batches:
        state, loss = p_step(state, b)
    return jax_utils.unreplicate(state)
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_reduction_is_followed(way: str) -> None:
    assert codes(PROGRAM, way.replace("PM", "lax.pmean"), "JM1", "JM2", "JM3") == set()
    assert "JM201" in codes(PROGRAM, way.replace("PM", "kept"), "JM1", "JM2", "JM3")
