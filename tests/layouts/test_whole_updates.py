"""Parameters that host code sets as a whole, `x.at[:].set(0.5)`, and the processes that have to do so."""

from __future__ import annotations

import pytest

from tests.layouts.test_carried import both, layouts, plan, says

PROGRAM = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, traverse_util
from flax.training.common_utils import shard
from jax import lax

X = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(params, x):
    grads = jax.grad(lambda p: jnp.mean((p["head"]["gain"] * (x @ p["w"]) + p["head"]["bias"] - 1) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, lax.pmean(grads, "d"))


p_step = jax.pmap(step, axis_name="d")


def scaled(params, gain=1.0):
    flat = traverse_util.flatten_dict(params, sep="/")
    flat["head/gain"] = flat["head/gain"].at[:].set(gain)
    flat["head/bias"] = flat["head/bias"].at[...].add(0.5)
    return traverse_util.unflatten_dict(flat, sep="/")


def main():
    params = {"w": jnp.ones(3), "head": {"gain": jnp.ones(()), "bias": jnp.zeros(())}}
    params = jax_utils.replicate(params)
    params = scaled(params, gain=0.25)
    for x in (X, X):
        params = p_step(params, shard(x))
    params = scaled(params, gain=0.5)
    return jax_utils.unreplicate(params)


RESULT = [np.asarray(one).tolist() for one in jax.tree.leaves(main())]
"""
STEP = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax

X = np.arange(48, dtype=np.float32).reshape(16, 3)
p_step = jax.pmap(lambda w, x: w - lax.pmean(jnp.mean(x), "d"), axis_name="d")


def main(values):
    w = jax_utils.replicate(jnp.ones(3))
    other = jax_utils.replicate(jnp.ones(3))
    table = {}
    w = p_step(w, shard(jnp.asarray(X)))
    USE
    return jax_utils.unreplicate(p_step(w, shard(X)))


main(X)
"""


def test_a_number_is_put_into_all_of_a_parameter() -> None:
    files = {"main.py": PROGRAM}
    assert layouts(plan(files, "auto"))[0] == "stacked"  # `gain` may be an array
    found = plan(files)
    assert layouts(found) == ["replicated", "split", "replicated"]
    assert "`gain` is one number" in says(found)
    after = found.files[0].after
    assert 'flat["head/gain"].at[...].set(gain)' in after
    assert ".at[:]" not in after
    before, now = both(files, found)
    assert (before["error"], now["error"]) == ("", "")
    assert before["result"] == now["result"]


@pytest.mark.parametrize("use", ["w = w.at[:].set(0.5)", "w = w.at[...].multiply(-2)", "w = w.at[:].set(len(values))"])
def test_a_number_that_is_written_out_is_proven(use: str) -> None:
    assert layouts(plan({"main.py": STEP.replace("USE", use)}, "auto")) == ["replicated", "split", "replicated"]


@pytest.mark.parametrize(
    "use",
    [
        "w = w.at[:].set(other)",
        "w = w.at[0].set(0.5)",
        "w = w.at[:, 0].set(0.5)",
        "w = w.at[:].set(0.5, mode='drop')",
        "w = w.at[:].apply(jnp.sort)",
        "w = w.at[:].get()",
        "w = w.at[1:].set(0.5)",
        "table[0] = w",
    ],
)
def test_other_updates_keep_arrays_stacked(use: str) -> None:
    expected = "replicated" if use.startswith("table") else "stacked"
    assert layouts(plan({"main.py": STEP.replace("USE", use)}))[0] == expected


def test_a_dictionary_is_taken_apart_by_its_entries_alone() -> None:
    """What is asked of each entry may look at the device axis."""
    sure = PROGRAM.replace(".set(gain)", ".set(0.25)")
    assert layouts(plan({"main.py": sure}, "auto"))[0] == "replicated"
    asking = sure.replace('flatten_dict(params, sep="/")', 'flatten_dict(params, lambda _, x: x.ndim == 1, sep="/")')
    assert layouts(plan({"main.py": asking}, "auto"))[0] == "stacked"
    asking = sure.replace('flatten_dict(params, sep="/")', 'flatten_dict(params, sep="/", is_leaf=lambda _, x: x.ndim)')
    assert layouts(plan({"main.py": asking}, "auto"))[0] == "stacked"


GUARDS = [
    "if jax.process_index() == 0:\n        print(w.mean())",
    "if jax.process_index() != 0:\n        return\n    print(w.mean())",
    "is_main_process = jax.process_index() == 0\n    if is_main_process and values:\n        print(w.mean())",
    "mean = w.mean() if jax.process_index() == 0 else 0",
    "jax.process_index() == 0 and print(w.mean())",
    "if jax.process_index() == 0:\n        report(w)",
]
REPORT = "\n\ndef report(w):\n    print(w.mean())\n\n\nmain(X)\n"


@pytest.mark.parametrize("use", GUARDS)
def test_what_one_process_runs_computes_with_no_global_array(use: str) -> None:
    program = STEP.replace("USE", use).replace("\n\nmain(X)\n", REPORT)
    assert layouts(plan({"main.py": program}))[2] == "stacked"


def test_what_each_process_runs_is_likely_to_be_run_alike() -> None:
    program = STEP.replace("USE", "print(w.mean())").replace("\nX =", "\njax.distributed.initialize()\nX =")
    assert layouts(plan({"main.py": program}, "auto"))[2] == "stacked"
    found = plan({"main.py": program})
    assert layouts(found)[2] == "replicated"
    assert "each process runs `w.mean()` with the same numbers" in says(found)
