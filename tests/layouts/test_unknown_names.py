"""A call with a keyword that the mapped function has no parameter for raises, with and without the rewrite."""

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

def update(w, x, SPEC):
    return w - jax.lax.pmean((x @ w).mean(), "batch")

p_update = jax.pmap(MAPPED, "batch")

def main():
    w = jax_utils.replicate(jnp.ones(3))
    return p_update(w=w, x=shard(np.ones((16, 3), np.float32)))

def test_update(w):
    CALL
"""
CALL = "return p_update(w=w, x=shard(np.ones((16, 3), np.float32)), rate=w)"


@pytest.mark.parametrize(
    ("spec", "mapped", "call", "layout"),
    [
        ("scale=1.0", "update", CALL, "replicated"),
        ("scale=1.0", "jax.jit(update)", CALL, "replicated"),
        ("scale=1.0", "update", f"try:\n        {CALL}\n    except TypeError:\n        pass", "stacked"),
        ("**rates", "update", CALL, "stacked"),
        ("rate=1.0", "update", CALL, "stacked"),
        ("*, rate=1.0", "jax.jit(update)", CALL, "stacked"),
        ("scale=1.0", "unknown(update)", CALL, "stacked"),
    ],
)
def test_a_name_of_no_parameter(spec: str, mapped: str, call: str, layout: str) -> None:
    text = MAIN.replace("SPEC", spec).replace("MAPPED", mapped).replace("CALL", call)
    plan, _ = plan_sources([("main.py", Path("/p/main.py"), text)], PlanOptions("likely"))
    assert plan.sites[0].arguments[0].layout == layout
