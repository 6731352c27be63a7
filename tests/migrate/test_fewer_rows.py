"""Maps that are given all rows at one call and some of them at another, with calls of the host and without."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run

PROGRAM = """import jax
import numpy as np
from jax import lax

N = jax.local_device_count()
X = np.arange(2.0 * N, dtype=np.float32).reshape(N, 2)
PART = X[:3]

def doubled(x):
    return jax.pure_callback(lambda x: 2 * x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

step = jax.pmap(lambda x: lax.psum(BODY, "i") + x, axis_name="i")

def main():
    return np.asarray(step(X)), np.asarray(step(SOME))
"""


@pytest.mark.parametrize("body", ["x", "doubled(x)"])
def test_some_rows(body: str) -> None:
    some = ("X[:3]", "X[5:]", "X[:-2]", "X[:4, :1]", "PART")
    files = {one: {"main.py": PROGRAM.replace("BODY", body).replace("SOME", one)} for one in some}
    found = run([Program(name, before, {**before, **fix_files(before, "auto")}) for name, before in files.items()])
    assert {one.name: one.text for one in found if one.verdict != "agrees"} == {}


CHAINS = """import jax
import jax.numpy as jnp
import numpy as np

N = jax.local_device_count()

def run(fn, keys):
    chains = int(keys.shape[0])
TEST

def main():
    keys = np.arange(2.0 * N, dtype=np.float32).reshape(N, 2)
    return [np.asarray(run(lambda k: jnp.sin(k).sum(), keys[:n])) for n in (2, N)]
"""
WAYS = {  # to go on where there are enough devices
    "in a branch": """
    if jax.local_device_count() >= chains:
        return jax.pmap(fn)(keys)
    return jax.vmap(fn)(keys)
""",
    "the other way round": """
    if chains <= jax.device_count():
        return jax.pmap(fn)(keys)
    return jax.vmap(fn)(keys)
""",
    "not fewer": """
    if 1 < chains and not len(jax.devices()) < chains:
        return jax.pmap(fn)(keys)
    return jax.vmap(fn)(keys)
""",
    "by a name": """
    enough = jax.local_device_count() >= chains
    return jax.pmap(fn)(keys) if enough else jax.vmap(fn)(keys)
""",
    "else": """
    if N < chains:
        result = jax.vmap(fn)(keys)
    else:
        result = jax.pmap(fn)(keys)
    return result
""",
    "an early return": """
    if jax.local_device_count() < chains:
        return jax.vmap(fn)(keys)
    return jax.pmap(fn)(keys)
""",
    "an early raise": """
    if chains > jax.local_device_count():
        raise ValueError(chains)
    return jax.pmap(fn)(keys)
""",
    "a flag that is taken back": """
    method = "parallel"
    if method == "parallel" and jax.local_device_count() < chains:
        method = "vectorized"
    return jax.pmap(fn)(keys) if method == "parallel" else jax.vmap(fn)(keys)
""",
    "an assertion": """
    assert chains <= len(jax.devices())
    return jax.pmap(fn)(keys)
""",
}


@pytest.mark.parametrize("way", WAYS)
def test_as_many_devices_as_there_are_rows(way: str) -> None:
    before = {"main.py": CHAINS.replace("TEST", WAYS[way])}
    (found,) = run([Program(way, before, fix_files(before, "auto"))])
    assert (found.verdict, found.text) == ("agrees", "")


def test_a_batch_with_a_row_for_each_device_is_for_all() -> None:
    check = "    if jax.device_count() > chains:\n        raise ValueError(chains)\n    assert chains >= N\n"
    text = CHAINS.replace("TEST", f"{check}    return jax.pmap(fn)(keys)\n")
    assert "[:rows]" not in fix_files({"main.py": text}, "auto")["main.py"]


BENCHMARK = """import jax
import jax.numpy as jnp
import numpy as np


def measure(PARAMETER):
    x = jax.random.normal(jax.random.key(0), (PARAMETER, 4))
    return np.asarray(jax.pmap(lambda x: jnp.sin(x).sum())(x))


def main():
    found = []
    for n in (2, 4, jax.local_device_count()):
        found.append(measure(n))
    return found
"""


@pytest.mark.parametrize("name", ["num_cores_to_use", "n_devices", "num_gpus"])
def test_one_number_of_devices_after_another(name: str) -> None:
    before = {"main.py": BENCHMARK.replace("PARAMETER", name)}
    for layout in ("auto", "likely"):
        after = fix_files(before, layout)
        assert [(one.verdict, one.text) for one in run([Program("one", before, before | after)])] == [("agrees", "")]
