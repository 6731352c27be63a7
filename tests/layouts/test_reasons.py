"""What fix says of an output that cannot be shown to be the same on all devices: what that may depend on, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        ("value = w + NETS['noisy'](w)", f"what NETS['noisy'] gives (line {BODY})"),
        ("value = scaled(w, NETS['noisy'](w))", f"what NETS['noisy'] gives (line {BODY})"),
        ("value = scaled(other, 2)", f"what NETS['other'] gives (line {BODY - 1})"),
        ("value = w * SCALE", f"SCALE, which may differ between processes (line {BODY})"),
        ("value = w * time.time()", f"time.time, which may differ between processes (line {BODY})"),
    ],
)
def test_what_an_output_may_depend_on(body: str, why: str) -> None:
    text = PROGRAM.replace("@@", body)
    plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), text)], layout="auto")
    (output,) = (one for one in plan.sites[0].outputs if one.layout == "stacked")
    said, _, behind = output.reason.partition("): it may depend on ")
    assert said.startswith("cannot be shown to be the same on all devices when the mapped function returns it (line ")
    assert behind == why
