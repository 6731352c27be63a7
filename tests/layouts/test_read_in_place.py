"""Reads of the device axis that get it back where they stand, so that they keep no array stacked."""

from __future__ import annotations

import pytest

from tests.layouts.test_carried import says
from tests.layouts.test_presumed import both, layouts, plan

PROGRAM = """\
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard
from flax.training.train_state import TrainState

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
RESULT = []


def step(state, x):
    grads = jax.grad(lambda p: jnp.mean((x @ p["w"] - 1) ** 2))(state.params)
    return state.apply_gradients(grads=jax.lax.pmean(grads, "d"))


def main():
    tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.5)
    state = TrainState.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=tx)
    p_step = jax.pmap(step, axis_name="d")
    state = jax_utils.replicate(state)
    for i in range(3):
        batch = shard(X + i)
        state = p_step(state, batch)
        USE
    return np.asarray(state.params["w"][0]).tolist()


RESULT.append(main())
"""


@pytest.mark.parametrize(
    ("use", "written"),
    [
        (
            'RESULT.append(state.opt_state.hyperparams["learning_rate"][0].item())',
            'state.opt_state.hyperparams["learning_rate"].item()',
        ),
        ('RESULT.append(np.asarray(state.params["w"][3]).tolist())', 'stack(state.params["w"])[3]'),
        ("RESULT.append([float(s) for s in state.step])", "for s in stack(state.step)"),
        ('RESULT.append(np.asarray(state.params["w"].T).tolist())', 'stack(state.params["w"]).T'),
    ],
)
def test_one_read_of_the_device_axis_keeps_no_array_stacked(use: str, written: str) -> None:
    files = {"main.py": PROGRAM.replace("USE", use)}
    found = plan(files)
    assert layouts(found) == (["replicated", "split"], ["replicated"])
    assert written in found.files[0].after
    before, after = both(f"read {use}", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_what_an_index_takes_out_of_a_state_is_no_slice_where_no_array_has_what_it_is_asked_for() -> None:
    use = 'RESULT.append(state.opt_state[-1].hyperparams["learning_rate"][0].item())'
    text = PROGRAM.replace("USE", use).replace(
        "learning_rate=0.5)", "learning_rate=0.5)\n    tx = optax.chain(optax.clip(1.0), tx)"
    )
    found = plan({"main.py": text})
    assert layouts(found) == (["replicated", "split"], ["replicated"])
    assert 'state.opt_state[-1].hyperparams["learning_rate"].item()' in found.files[0].after
    before, after = both("hyperparameters", {"main.py": text}, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_what_is_read_is_said_not_to_change() -> None:
    found = plan({"main.py": PROGRAM.replace("USE", 'state.params["w"][3]')})
    assert "what is read of `state.params['w']` does not change it" in says(found)


@pytest.mark.parametrize(
    "use",
    [
        "state.params.update({})",
        "RESULT.append(state.params['w'].is_deleted())",
        "RESULT.append(str(state.params['w'].sharding))",
        "state.params['w'].delete()",
    ],
)
def test_what_changes_an_array_or_asks_where_it_lies_keeps_it_stacked(use: str) -> None:
    assert layouts(plan({"main.py": PROGRAM.replace("USE", use)}))[0][0] == "stacked"


@pytest.mark.parametrize(
    "use", ["row = batch[2]; row *= 2", "for row in batch: row += 1", "RESULT.append(batch[2].tolist())"]
)
def test_a_batch_of_numpy_stays_stacked_where_what_is_read_may_be_written_into(use: str) -> None:
    files = {"main.py": PROGRAM.replace("USE", use)}
    assert layouts(plan(files))[0] == ["replicated", "stacked"]


def test_a_batch_of_jax_is_read_in_place() -> None:
    text = PROGRAM.replace("USE", "RESULT.append(np.asarray(batch[2, 1]).tolist())").replace(
        "X = np.sin", "X = jnp.sin"
    )
    found = plan({"main.py": text})
    assert layouts(found)[0] == ["replicated", "split"]
    assert "x.reshape(jax.device_count(), -1, *x.shape[1:])" in found.files[0].after
    assert ")[2, 1]" in found.files[0].after
    before, after = both("batch", {"main.py": text}, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_sum_over_the_devices_is_likely_to_round_as_it_did() -> None:
    use = 'RESULT.append(float(state.params["w"].T.sum()))'
    text = PROGRAM.replace("USE", use).replace("jnp.ones(3)", "jnp.sin(jnp.arange(3.0)) * 1e4")
    found = plan({"main.py": text})
    assert 'stack(state.params["w"]).T.sum()' in found.files[0].after
    assert layouts(plan({"main.py": text}, "auto"))[0][0] == "stacked"
    before, after = both("summed", {"main.py": text}, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
