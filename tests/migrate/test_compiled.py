"""Maps under `jax.jit` are the map alone; of several processes, each maps over its own devices there."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run, run_in_processes

PROGRAM = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

def f(w, x):
    return jax.lax.psum(x * w, "a"), x * w

MAP

def main():
    n = jax.local_device_count()
    x = np.arange(2.0 * n, dtype=np.float32).reshape(n, 2) + PROCESS
    w = jax_utils.replicate(jnp.arange(2.0))
    total, each = step(w, x)
    return np.asarray(total), np.asarray(each)
"""
MAPS = {
    "call": 'step = jax.jit(jax.pmap(f, axis_name="a"))',
    "decorator": '@jax.jit\n@functools.partial(jax.pmap, axis_name="a")\ndef step(w, x):\n    return f(w, x)',
    "stacked": '@jax.jit\n# each\n@functools.partial(jax.pmap, axis_name="a")\n'
    'def step(w, x):\n    return f(w, x + jax.lax.axis_index("a") * 0)',
    "made": 'def make():\n    @jax.jit\n    @functools.partial(jax.pmap, axis_name="a")\n    def step(w, x):\n'
    "        return f(w, x)\n    return step\nstep = make()",
}


def files_of(name: str, process: str) -> dict[str, str]:
    return {"main.py": PROGRAM.replace("MAP", MAPS[name]).replace("PROCESS", process)}


def written(name: str, process: str) -> Program:
    files = files_of(name, process)
    return Program(name, files, {**files, **fix_files(files)})


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("process", ["0", "jax.process_index()"])
def test_the_jit_around_a_map_goes(name: str, process: str) -> None:
    after = fix_files(files_of(name, process))["main.py"]
    assert after.count("@jax.jit") + after.count("jax.jit(") == 1


def test_it_computes_the_same_numbers() -> None:
    found = [
        *run([written(name, "0") for name in MAPS]),
        *run_in_processes([written(name, "jax.process_index()") for name in MAPS]),
    ]
    assert {one.name: one.text for one in found if one.verdict != "agrees"} == {}
