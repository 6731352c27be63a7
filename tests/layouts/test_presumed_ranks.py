"""Copies whose number of dimensions shows, and those of which a reader takes one for granted."""

from __future__ import annotations

import pytest

from tests.layouts.test_carried import both, layouts, plan, says

PROGRAM = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

n = jax.local_device_count()
X = np.arange(48, dtype=np.float32).reshape(16, 3)
POINTS = np.loadtxt(["0 1 2", "1 0 3", "4 4 4"], dtype=np.float32)


def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w.reshape(3, -1)) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grads, "d")


p_step = jax.pmap(step, axis_name="d")
start = START
start = p_step(start, shard(X))
start = p_step(start, shard(X))
RESULT = jnp.asarray(start[0]).tolist()
"""
PROVEN = {
    "np.tile(np.linspace(0.0, 1.0, 3), (n, 1))": "np.linspace(0.0, 1.0, 3)",
    "jnp.tile(jnp.zeros((3, 2))[None], (n, 1, 1))": "jnp.zeros((3, 2))",
    "np.tile([0.5, 1.0, 2.0], (n, 1))": "np.asarray([0.5, 1.0, 2.0])",
    "jnp.broadcast_to(jnp.arange(3.0), (n, 3))": "jnp.broadcast_to(jnp.arange(3.0), (3,))",
    "np.broadcast_to(np.ones(3), (n, 2, 3))": "np.broadcast_to(np.ones(3), (2, 3))",
    "jnp.stack((jnp.ones(3),) * n)": "jnp.ones(3)",
    "jnp.stack([jnp.ones(3)] * n, 0)": "jnp.ones(3)",
}
PRESUMED = {
    "np.tile(POINTS[:2].T[None], (n, 1, 1))": "POINTS[:2].T",
    "np.tile(np.asarray(POINTS.sum(0)), (n, 1))": "np.asarray(POINTS.sum(0))",
    "np.broadcast_to(POINTS, (n, 3, 3))": "np.broadcast_to(POINTS, (3, 3))",
}
OTHERS = [
    "np.tile(np.ones((1, 3)), (n, 1))",
    "jnp.tile(jnp.ones(3)[None], (n, 1, 1))",
    "np.broadcast_to(np.arange(24.0).reshape(n, 3), (n, 3))",
    "jnp.broadcast_to(jnp.ones((n, 3)) * jnp.arange(n)[:, None], (n, 3))",
    "jnp.stack([jnp.ones(n)] * 3, 1)",
]


@pytest.mark.parametrize("start", list(PROVEN))
def test_what_is_shown_to_have_no_other_dimensions_is_replicated(start: str) -> None:
    found = plan({"main.py": PROGRAM.replace("START", start)}, "auto")
    assert layouts(found) == ["replicated", "split", "replicated"]
    assert f"start = shard({PROVEN[start]}, P())" in found.files[0].after


@pytest.mark.parametrize("start", list(PRESUMED))
def test_dimensions_that_do_not_show_are_presumed(start: str) -> None:
    files = {"main.py": PROGRAM.replace("START", start)}
    assert layouts(plan(files, "auto"))[0] == "stacked"
    found = plan(files)
    assert layouts(found) == ["replicated", "split", "replicated"]
    assert f"start = shard({PRESUMED[start]}, P())" in found.files[0].after
    assert [one for one in says(found) if one.endswith("and none for the devices")]


@pytest.mark.parametrize("start", OTHERS)
def test_other_dimensions_keep_an_array_as_it_is(start: str) -> None:
    found = plan({"main.py": PROGRAM.replace("START", start)}, "auto")
    assert layouts(found)[0] == "stacked"
    assert f"start = {start}" in found.files[0].after


@pytest.mark.long
@pytest.mark.parametrize("start", [*PROVEN, *PRESUMED])
def test_the_numbers_are_the_same(start: str) -> None:
    files = {"main.py": PROGRAM.replace("START", start)}
    before, after = both(files, plan(files))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_key_of_a_loop_is_given_to_all_devices() -> None:
    text = """\
import jax
import jax.numpy as jnp

n = jax.local_device_count()
draw = jax.pmap(lambda key: jax.lax.psum(jax.random.normal(jax.random.fold_in(key, jax.lax.axis_index("d"))), "d"), "d")
RESULT = [float(draw(jnp.tile(sub, (n, 1)))[0]) for sub in jax.random.split(jax.random.PRNGKey(0), 3)]
for sub in jax.random.split(jax.random.PRNGKey(1), 2):
    RESULT.append(float(draw(jnp.tile(sub, (n, 1)))[0]))
"""
    found = plan({"main.py": text}, "auto")
    assert layouts(found) == ["replicated", "replicated"]
    before, after = both({"main.py": text}, found)
    assert before["result"] == after["result"]


UNMADE = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

n = jax.local_device_count()
rng = np.random.default_rng(0)
series = (np.zeros((n, 4)) + rng.normal(size=(n, 4))).astype(np.float32)
frames = rng.normal(size=(n, 4, 2)).astype(np.float32)


def step(w, obs):
    return w - 0.125 * jax.lax.pmean(obs.sum() * w, "d")


p_step = jax.pmap(step, axis_name="d")
w = jax_utils.replicate(jnp.ones(3))
for t in range(4):
    w = p_step(w, GIVEN)
RESULT = np.asarray(w[0]).tolist()
"""


@pytest.mark.parametrize(
    ("given", "layout"), [("series[:, t]", "stacked"), ("frames[:, t]", "split"), ("series[:, t, None]", "split")]
)
def test_one_number_a_device_is_no_batch(given: str, layout: str) -> None:
    files = {"main.py": UNMADE.replace("GIVEN", given)}
    found = plan(files)
    assert layouts(found) == ["replicated", layout, "replicated"]
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
