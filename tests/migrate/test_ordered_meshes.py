"""Arrays on a mesh whose devices JAX orders by their connections, as on TPUs, go to a map as pmap took them."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program
from tests.migrate.forms.running import run as run_here

RING = """
def ring(sizes, names, **options):
    devices = np.array(jax.devices())[[0, 1, 2, 3, 6, 7, 4, 5]]
    return jax.sharding.Mesh(devices.reshape(sizes), names)


jax.make_mesh = ring
"""
PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

# the mesh of a TPU


def fitness(w, x, key):
    return jax.lax.pmean((x @ w).sum(), "i"), x * jax.lax.axis_index("i") + jax.random.normal(key, x.shape)


{above}


def main():
    mesh = jax.make_mesh((jax.device_count(),), ("x",))
    rows = NamedSharding(mesh, PartitionSpec("x"))
    w, x, keys = np.ones((8, 3)), np.arange(24.0).reshape(8, 3), jax.random.split(jax.random.PRNGKey(0), 8)
    w, x, keys = jax.device_put((w, x, keys), rows)
    found = []
    for _ in range(2):
        mean, x = {called}(w, x, keys)
        found.append(np.asarray(mean))
    return found, np.asarray(x)
"""
MADE = {
    "above": ('p_fitness = jax.pmap(fitness, "i")', "p_fitness"),
    "in place": ("", 'jax.pmap(fitness, "i")'),
    "decorated": (
        "@jax.pmap\ndef p_fitness(w, x, key):\n    return (x @ w).sum(), x + jax.random.normal(key, x.shape)",
        "p_fitness",
    ),
    "in a function": (
        'def p_fitness(w, x, key):\n    return jax.pmap(lambda *args: fitness(*args), axis_name="i")(w, x, key)',
        "p_fitness",
    ),
}


@pytest.mark.parametrize("layout", ["auto", "stacked"])
def test_maps_take_arrays_in_another_order_of_devices(layout: str) -> None:
    befores = {name: PROGRAM.format(above=above, called=called) for name, (above, called) in MADE.items()}
    afters = {name: fix_files({"main.py": before}, layout)["main.py"] for name, before in befores.items()}
    assert not any("pmap(" in after for after in afters.values())
    mark = "# the mesh of a TPU\n"
    programs = [
        Program(name, {"main.py": befores[name].replace(mark, RING)}, {"main.py": after.replace(mark, RING)})
        for name, after in afters.items()
    ]
    assert all(mark in text for text in (*befores.values(), *afters.values()))
    wrong = [
        f"{v.name}: {v.text}\n{afters[v.name]}" for v in run_here(programs, flags=UNOPTIMISED) if v.verdict != "agrees"
    ]
    assert not wrong, "\n".join(wrong)
