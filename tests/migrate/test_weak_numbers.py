"""A Python number that several processes type strongly, and one process does not, leaves its map as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

MAIN = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np

jax.distributed.initialize()
RATE = 2.5
x = jnp.ones((jax.local_device_count(), 2), jnp.bfloat16)
p_scale = jax.pmap(lambda x, c: x * c, axis_name="d", in_axes=(0, None))


@functools.partial(jax.pmap, in_axes=(None, 0))
def p_other(c, x):
    return x * c


"""


def statuses(call: str, text: str = MAIN, layout: str = "auto") -> list[str]:
    found, _ = plan_sources([("main.py", Path("/project/main.py"), text + call + "\n")], PlanOptions(layout))
    return [site.code or site.status for site in found.sites]


@pytest.mark.parametrize("number", ["2.5", "-3", "RATE", "RATE / 2", "float(x[0, 0])"])
def test_a_number_leaves_its_map(number: str) -> None:
    assert statuses(f"print(p_scale(x, {number}))") == ["JM404", "rewritten"]
    assert statuses(f"print(p_other({number}, x))", layout="stacked") == ["rewritten", "JM404"]
    assert statuses(f"for i in range(3):\n    print(p_scale(x, i * {number}))") == ["JM404", "rewritten"]


@pytest.mark.parametrize("array", ["jnp.float32(2.5)", "np.ones(2)", "x[0]", "load()", "True"])
def test_anything_else_does_not(array: str) -> None:
    assert statuses(f"print(p_scale(x, {array}))") == ["rewritten", "rewritten"]


def test_only_several_processes_and_narrow_types_tell_them_apart() -> None:
    call = "print(p_scale(x, 2.5))"
    assert statuses(call, MAIN.replace("jax.distributed.initialize()\n", "")) == ["rewritten", "rewritten"]
    assert statuses(call, MAIN.replace("jnp.bfloat16", "jnp.float32")) == ["rewritten", "rewritten"]
