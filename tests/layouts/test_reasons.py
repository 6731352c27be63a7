"""What fix says of an output that cannot be proven replicated: what that may depend on, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

PROGRAM = """import os
import time

import jax
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax

NETS = {}
SCALE = float(os.environ.get("SCALE", 2))


def noisy(w):
    return w + lax.axis_index("batch")


NETS["noisy"] = noisy


def scaled(w, by):
    return w * by


def step(w, x):
    other = scaled(w, NETS["other"](w))
    @@
    return w - lax.pmean(x.mean(0), "batch"), value


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(np.ones(3, np.float32))
for _ in range(2):
    w, kept = p_step(w, shard(np.ones((16, 3), np.float32)))
print(kept[0])
"""
BODY = 1 + PROGRAM[: PROGRAM.index("@@")].count("\n")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("value = w + NETS['noisy'](w)", f"the result of NETS['noisy'] (line {BODY})"),
        ("value = scaled(w, NETS['noisy'](w))", f"the result of NETS['noisy'] (line {BODY})"),
        ("value = scaled(other, 2)", f"the result of NETS['other'] (line {BODY - 1})"),
        ("value = w * SCALE", f"SCALE, which may differ between processes (line {BODY})"),
        ("value = w * time.time()", f"time.time, which may differ between processes (line {BODY})"),
    ],
)
def test_what_an_output_may_depend_on(body: str, why: str) -> None:
    text = PROGRAM.replace("@@", body)
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), text)], PlanOptions("auto"))
    (output,) = (one for one in plan.sites[0].outputs if one.layout == "stacked")
    said, _, behind = output.reason.partition("): it may depend on ")
    assert said.startswith("cannot be proven replicated when the mapped function returns it (line ")
    assert behind == why


SPOILED = """import jax
import numpy as np
import optax
from flax import jax_utils
from flax.training import train_state
from flax.training.common_utils import shard
from jax import lax


def step(state, ema, x):
    grads = jax.grad(lambda p: (x @ p).mean())(state.params)
    state = state.apply_gradients(grads=lax.pmean(grads, "batch"))
    ema = ema * 0.9 + state.params * 0.1
    return state, ema, lax.pmean(x.mean(), "batch")


p_step = jax.pmap(step, axis_name="batch")
params = np.ones(3, np.float32)
state = train_state.TrainState.create(apply_fn=None, params=params, tx=optax.sgd(0.1))
state = jax_utils.replicate(state)
ema = jax_utils.replicate(params)
for _ in range(2):
    state, ema, mean = p_step(state, ema, shard(np.ones((16, 3), np.float32)))
print(mean[0], jax_utils.unreplicate(state).step, jax_utils.unreplicate(ema))
print(@@)
"""
END = SPOILED.count("\n")


@pytest.mark.parametrize(
    ("shown", "stacked"),
    [
        ("0", {}),
        ("ema.nbytes", {"ema": f"has .nbytes read (line {END})", "1": f"has .nbytes read (line {END})"}),
        (
            "state.params.nbytes",
            dict.fromkeys(("state", "ema", "0", "1"), f"has .nbytes read (line {END})"),
        ),
    ],
)
def test_what_is_computed_from_what_stays_stacked_tells_why_that_does(shown: str, stacked: dict[str, str]) -> None:
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), SPOILED.replace("@@", shown))], PlanOptions("auto"))
    found = [*plan.sites[0].arguments, *plan.sites[0].outputs]
    assert {one.name: one.reason for one in found if one.layout == "stacked"} == stacked


UNWRITTEN = """import functools

import jax
import numpy as np
from flax import jax_utils


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(np.ones(3, np.float32))
w = p_step(w, np.load("x.npy"))
print(jax_utils.unreplicate(w))
"""


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            "steps = {}\nsteps['a'] = p_step\nprint(step.__wrapped__)\n",
            "the project reads `__wrapped__`, perhaps of what it maps",
        ),
        (
            "def back(x):\n    return jax.device_put(x, jax.devices()[::-1][0])\n",
            "the program chooses among devices, or orders them",
        ),
    ],
)
def test_what_cannot_be_written_says_what_stands_in_its_way(more: str, reason: str) -> None:
    planned, _ = plan_sources([("main.py", Path("/nowhere/main.py"), UNWRITTEN + more)], PlanOptions("auto"))
    (site,) = planned.sites
    assert {one.reason for one in (*site.arguments, *site.outputs)} == {reason}
