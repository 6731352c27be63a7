"""What lays arrays over the mesh: copies where a donation or a write would reach the original, and else none."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program, run

HEAD = """
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def aligned(rows, columns):  # as JAX takes NumPy's memory without a copy
    memory = np.zeros(rows * columns * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + rows * columns * 4].view(np.float32).reshape(rows, columns)


def step(state, x):
    loss = jax.lax.pmean((x @ state["w"] * state["scale"]).mean(), "batch")
    return {**state, "w": (state["w"] + loss.astype(state["w"].dtype)) * state["scale"]}, loss
"""
MAPPED = '\n\np_step = jax.pmap(step, axis_name="batch")\n'
DONATED = '\n\np_step = jax.pmap(step, axis_name="batch", donate_argnums=0)\n'
PROGRAMS = {
    "a buffer that is written once it is replicated": MAPPED
    + """
def main():
    w, x = aligned(64, 64), np.random.RandomState(0).randn(64, 64).astype("f")
    w += 1
    state = jax_utils.replicate({"w": w, "scale": 0.5})
    w[:] = 7
    state, loss = p_step(state, shard(x))
    return np.asarray(jax_utils.unreplicate(state)["w"]), float(loss[0])
""",
    "a number beside bfloat16": MAPPED
    + """
def main():
    x = np.random.RandomState(0).randn(64, 16).astype("f")
    state = jax_utils.replicate({"w": jnp.ones((16, 16), jnp.bfloat16), "scale": 0.3})
    for _ in range(2):
        state, loss = p_step(state, shard(x))
    w = jax_utils.unreplicate(state)["w"]
    return str(w.dtype), np.asarray(w, np.float32), float(loss[0])
""",
    "a weak array beside bfloat16": DONATED
    + """
def main():
    x = np.random.RandomState(0).randn(64, 16).astype("f")
    state = jax_utils.replicate({"w": jnp.ones((16, 16), jnp.bfloat16), "scale": jnp.asarray(0.3)})
    for _ in range(2):
        state, loss = p_step(state, shard(x))
    w = jax_utils.unreplicate(state)["w"]
    return str(w.dtype), np.asarray(w, np.float32), float(loss[0])
""",
    "an array that is read after its copy was donated": DONATED
    + """
def main():
    w, x = jnp.ones((16, 16)), np.random.RandomState(0).randn(64, 16).astype("f")
    state = jax_utils.replicate({"w": w, "scale": 0.5})
    for _ in range(2):
        state, loss = p_step(state, shard(x))
    return np.asarray(w), np.asarray(jax_utils.unreplicate(state)["w"])
""",
}


def test_placed_arrays_are_what_pmap_took() -> None:
    befores = {name: HEAD + text for name, text in PROGRAMS.items()}
    afters = {name: fix_files({"main.py": before}, "auto")["main.py"] for name, before in befores.items()}
    assert all("P()" in after and "jax_utils" not in after for after in afters.values())
    programs = [Program(name, {"main.py": befores[name]}, {"main.py": afters[name]}) for name in PROGRAMS]
    wrong = [f"{v.name}: {v.text}" for v in run(programs, flags=UNOPTIMISED) if v.verdict != "agrees"]
    assert not wrong, "\n".join(wrong)


ARRAYS = """
import jax
from flax.training.common_utils import shard
import jax.numpy as jnp
import numpy as np

p_step = jax.pmap(lambda w, x: jax.lax.{collective}, axis_name="i")
w = jnp.ones(3)
for x in batches():
    print(p_step(jnp.stack([w] * jax.local_device_count()), shard(x))[0])
{more}
"""


@pytest.mark.parametrize(
    ("more", "put"),
    [
        ("", "lambda x: jax.make_array_from_process_local_data(sharding, x), tree"),
        ("    x += 1", "x = x if isinstance(x, jax.Array) else np.array(x)"),
        ("jax.jit(print, donate_argnums=0)(x)", "x = jnp.copy(x) if isinstance(x, jax.Array) else np.asarray(x)"),
        ("# donate_argnums=0\nnp.delete(x, 0)", "lambda x: jax.make_array_from_process_local_data(sharding, x), tree"),
    ],
)
def test_copies_are_made_where_something_reaches_the_original(more: str, put: str) -> None:
    after = fix_files({"main.py": ARRAYS.format(collective="psum((w * x).sum(), 'i')", more=more)}, "auto")["main.py"]
    assert put in " ".join(after.split()), after


PLACES = {"psum((w * x).sum(), 'i')": False, "psum(w.sum() * jax.lax.axis_index('i'), 'i')": True}


@pytest.mark.parametrize(("collective", "is_ordered"), PLACES.items())
def test_meshes_have_the_order_of_processes_where_a_map_asks_for_places(collective: str, is_ordered: bool) -> None:
    program = ARRAYS.format(collective=collective, more="if jax.process_index() == 0:\n    print(w)")
    after = fix_files({"main.py": program}, "auto")["main.py"]
    assert ("process by process" in after) is is_ordered
    assert "P(" in after
