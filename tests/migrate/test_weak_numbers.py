"""A Python number that several processes type strongly, and one process does not, leaves its map as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import fix_files, plan_sources

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


@pytest.mark.parametrize("number", ["2.5", "-3.0", "RATE", "RATE / 2", "3 / 4", "float(x[0, 0])"])
def test_a_number_leaves_its_map(number: str) -> None:
    assert statuses(f"print(p_scale(x, {number}))") == ["JM404", "rewritten"]
    assert statuses(f"print(p_other({number}, x))", layout="stacked") == ["rewritten", "JM404"]
    assert statuses(f"for i in range(3):\n    print(p_scale(x, i * {number}))") == ["JM404", "rewritten"]


def test_a_likely_rewrite_names_the_number() -> None:
    text = MAIN + "print(p_scale(x, 2.5))\n"
    found, _ = plan_sources([("main.py", Path("/project/main.py"), text)], PlanOptions("likely"))
    assert [site.status for site in found.sites] == ["rewritten", "rewritten"]
    named = [any("`2.5`, for which in_axes has None" in one.says for one in site.assumed) for site in found.sites]
    assert named == [True, False]


@pytest.mark.parametrize("array", ["jnp.float32(2.5)", "np.ones(2)", "x[0]", "load()", "True", "3"])
def test_anything_else_does_not(array: str) -> None:
    assert statuses(f"print(p_scale(x, {array}))") == ["rewritten", "rewritten"]


def test_only_several_processes_and_narrow_types_tell_them_apart() -> None:
    call = "print(p_scale(x, 2.5))"
    assert statuses(call, MAIN.replace("jax.distributed.initialize()\n", "")) == ["rewritten", "rewritten"]
    assert statuses(call, MAIN.replace("jnp.bfloat16", "jnp.float32")) == ["rewritten", "rewritten"]


def test_integers_matter_beside_narrow_integers() -> None:
    text = MAIN.replace("jnp.bfloat16", "jnp.uint8")
    assert statuses("print(p_scale(x, 3))", text) == ["JM404", "rewritten"]
    assert statuses("for i in range(3):\n    print(p_scale(x, i))", text) == ["JM404", "rewritten"]
    assert statuses("print(p_scale(x, 2.5))", text) == ["rewritten", "rewritten"]


PUT = """\
import jax
import jax.numpy as jnp

x = jnp.ones((jax.local_device_count(), 2), jnp.bfloat16)
p_scale = jax.pmap(lambda x, c: x * c)
one = p_scale(x, jax.device_put_replicated(0.5, jax.local_devices()))
two = p_scale(x, jax.device_put_sharded([0.5] * jax.local_device_count(), jax.local_devices()))
"""


def test_numbers_that_were_put_on_devices_keep_their_weak_types() -> None:
    """As they did with the functions that JAX 0.10 lacks: pmap of 0.6.1 and of 0.8.1 gave bfloat16 for both."""
    after = fix_files({"main.py": PUT})["main.py"]
    names: dict[str, Any] = {}
    exec(after, names)
    assert [str(names[name].dtype) for name in ("one", "two")] == ["bfloat16", "bfloat16"]
    plain = fix_files({"main.py": PUT.replace("jnp.bfloat16", "jnp.float32")})["main.py"]
    assert "weak" in after
    assert "weak" not in plain
