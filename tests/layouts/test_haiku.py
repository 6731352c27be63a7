"""Networks of haiku's, whose code is not in sight: `init` gives parameters and state, which are told apart."""

from __future__ import annotations

import pytest

from tests.layouts.running import plan

PROGRAM = """
import haiku as hk
import jax
import jax.numpy as jnp
from flax import jax_utils

network = hk.{maker}(lambda x: hk.Linear(3)(x))
init = jax.pmap({mapped})
keys = jax_utils.replicate(jax.random.PRNGKey(0))
params, state = init(keys, jnp.ones((jax.local_device_count(), 4)).cumsum(0))
RESULT = jax_utils.unreplicate(params)
"""


@pytest.mark.parametrize(
    "mapped", ["network.init", "lambda *a: network.init(*a)", "lambda key, x: network.init(key, x)"]
)
def test_parameters_and_state_are_two_outputs(mapped: str) -> None:
    (site,) = plan({"main.py": PROGRAM.format(maker="transform_with_state", mapped=mapped)}).sites
    assert [a.layout for a in site.arguments] == ["replicated", "stacked"]
    assert [o.layout for o in site.outputs] == ["stacked", "stacked"]


@pytest.mark.parametrize("mapped", ["network.init", "lambda key, x: network.init(key, x)"])
def test_without_state_there_is_one(mapped: str) -> None:
    text = PROGRAM.format(maker="transform", mapped=mapped).replace("params, state =", "params =")
    (site,) = plan({"main.py": text}).sites
    assert len(site.outputs) == 1
