"""Maps of one row, as in tests that run on any number of devices, have a mesh of one device."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate.project import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program, run

APPLIED = """import jax
import jax.numpy as jnp

n = jax.device_count()


def run(transform, map_rng, x):
    return transform(lambda x: x * 2 + jax.random.normal(jax.random.key(0), ()))(map_rng(x))


def main():
    one = run(lambda f: jax.pmap(f, "i"), lambda x: jnp.broadcast_to(x, (1, *x.shape)), jnp.arange(3.0))
    return one, jax.pmap(lambda x: x + 1)(jnp.ones(n))
"""
DIRECT = """import jax
import jax.numpy as jnp

n = jax.device_count()
total = jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")
RESULT = total(GIVEN)
"""
GIVEN = ("jnp.arange(8.0).reshape(1, 8)", "jnp.reshape(jnp.arange(8.0), (1, -1))", "jnp.broadcast_to(1.0, (1, 3))")


@pytest.mark.parametrize("given", GIVEN)
def test_what_a_call_shows(given: str) -> None:
    after = fix_files({"main.py": DIRECT.replace("GIVEN", given)})["main.py"]
    assert "mesh_of(" in after


@pytest.mark.parametrize("given", ["jnp.arange(8.0).reshape(n, -1)", "jnp.arange(8.0).reshape(8, -1)"])
def test_rows_that_may_be_those_of_all_devices_do_not(given: str) -> None:
    after = fix_files({"main.py": DIRECT.replace("GIVEN", given)})["main.py"]
    assert "mesh_of(" not in after


def test_a_map_that_is_passed_on() -> None:
    before = {"main.py": APPLIED}
    after = fix_files(before)
    assert "jax.pmap" not in after["main.py"]
    (found,) = run([Program("passed", before, after)], flags=UNOPTIMISED)
    assert found.verdict == "agrees", found.text[-3000:]
