"""The names that the reports have for what a mapped function is given: those of its parameters, however it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

MAIN = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

def update(rate, w, x, scale=1.0):
    return w - rate * scale * jax.lax.pmean((x @ w).mean(), "batch")

def make(rate):
    def step(w, x):
        return update(rate, w, x)
    return step

class Model:
    rate = 0.5
    def step(self, w, x):
        return update(self.rate, w, x)

p_step = jax.pmap(MAPPED, "batch")
w = jax_utils.replicate(jnp.ones(3))
w = p_step(w, shard(np.ones((16, 3), np.float32)))
"""


@pytest.mark.parametrize("layout", ["auto", "stacked"])
@pytest.mark.parametrize(
    "mapped",
    [
        "functools.partial(update, 0.5)",
        "functools.partial(update, 0.5, scale=2.0)",
        "make(0.5)",
        "jax.jit(make(0.5))",
        "jax.jit(functools.partial(update, 0.5, scale=2.0))",
        "Model().step",
        "functools.partial(functools.partial(update, 0.5), scale=2.0)",
        "lambda w, x: update(0.5, w, x)",
    ],
)
def test_the_parameters_that_are_left(mapped: str, layout: str) -> None:
    text = MAIN.replace("MAPPED", mapped)
    plan, _ = plan_sources([("main.py", Path("/p/main.py"), text)], PlanOptions(layout))
    assert [one.name for one in plan.sites[0].arguments][:2] == ["w", "x"]


def test_a_function_out_of_sight_has_numbers() -> None:
    text = MAIN.replace("MAPPED", "functools.partial(update, *rates)").replace("p_step =", "rates = [0.5]\np_step =")
    plan, _ = plan_sources([("main.py", Path("/p/main.py"), text)], PlanOptions("auto"))
    assert [one.name for one in plan.sites[0].arguments] == ["0", "1"]
