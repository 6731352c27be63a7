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
    if TEST:
        return jax.pmap(fn)(keys)
    return jax.vmap(fn)(keys)

def main():
    keys = np.arange(2.0 * N, dtype=np.float32).reshape(N, 2)
    return [np.asarray(run(lambda k: jnp.sin(k).sum(), keys[:n])) for n in (2, N)]
"""


@pytest.mark.parametrize(
    "test",
    [
        "jax.local_device_count() >= chains",
        "enough",
        "chains <= jax.device_count()",
        "1 < chains and not len(jax.devices()) < chains",
    ],
)
def test_as_many_devices_as_there_are_rows(test: str) -> None:
    enough = "    enough = jax.local_device_count() >= chains\n" if test == "enough" else ""
    before = {"main.py": CHAINS.replace("    if TEST", f"{enough}    if {test}")}
    (found,) = run([Program(test, before, fix_files(before, "auto"))])
    assert (found.verdict, found.text) == ("agrees", "")
