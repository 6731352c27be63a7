"""Every way in which a program reduces its gradients before they are applied: JM201 is silent on each, and not without.

`reduction_ways.txt` has one on each line: what stands in the module, ` ### `, and a statement of the mapped function;
`\\n` is a line's end, PM the reduction.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.linting import lint
from jaxmigrate.sources import decode

WAYS = Path(__file__).with_name("reduction_ways.txt").read_text("utf-8").splitlines()
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
    {statement}
    return state.apply_gradients(grads=grads), lax.pmean(loss, "batch")

p_step = jax.pmap(step, axis_name="batch")

def main(state, batches):
    state = jax_utils.replicate(state)
    for b in batches:
        state, loss = p_step(state, b)
    return jax_utils.unreplicate(state)
"""


def codes(way: str, reduction: str) -> set[str]:
    """The rules about axes, reductions and control flow that find something in a program."""
    before, _, statement = way.replace("PM", reduction).replace("\\n", "\n").partition(" ### ")
    text = PROGRAM.format(before=before, statement=statement)
    compile(text, way, "exec")
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return {finding.code for finding in found if finding.code[:3] in ("JM1", "JM2", "JM3")}


@pytest.mark.parametrize("way", WAYS)
def test_a_reduction_is_followed(way: str) -> None:
    assert codes(way, "lax.pmean") == set()
    assert "JM201" in codes(way, "kept")
