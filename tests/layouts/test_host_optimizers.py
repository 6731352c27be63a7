"""Optimizers that host code runs on the gradients of all devices."""

from __future__ import annotations

import pytest

from tests.layouts.test_carried import both, layouts, plan, says

PROGRAM = """\
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax

X = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def loss_of(params, x):
    return jnp.mean((x @ params["w"] - 1) ** 2)


p_grad = jax.pmap(lambda params, x: lax.pmean(jax.grad(loss_of)(params, x), "d"), axis_name="d")


def main(optimizer):
    params = jax_utils.replicate({"w": jnp.ones(3)})
    opt_state = optimizer.init(params)
    for x in (X, X):
        grads = p_grad(params, shard(x))
        updates, opt_state = optimizer.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        USE
    return jax_utils.unreplicate(params)


RESULT = np.asarray(main(optax.adam(0.125))["w"]).tolist()
"""
ALONE = "`optimizer` changes each element by itself, by no norm of all"


@pytest.mark.parametrize("use", ["pass", "print(opt_state[0].count.shape)"])
def test_one_copy_is_stepped_as_each_slice_is(use: str) -> None:
    files = {"main.py": PROGRAM.replace("USE", use)}
    assert layouts(plan(files, "auto")) == ["stacked", "split", "stacked"]
    found = plan(files)
    assert layouts(found) == ["replicated", "split", "replicated"]
    assert ALONE in says(found)
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("USE", "print(len(opt_state))"),
        ("USE", "opt_state = jax.tree.map(lambda x: x[:1], opt_state)"),
        ("USE", "np.save('state.npy', jax.tree.leaves(opt_state)[0].shape)"),
        ("opt_state = optimizer.init(params)", "opt_state = optimizer.init({'w': jnp.ones(3)})"),
        ("optimizer.update(grads, opt_state, params)", "optimizer.update(grads, opt_state, value=params)"),
        ("optimizer.init", "noise.init"),
        ("optax.adam(0.125)", "optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.125))"),
        ("optax.adam(0.125)", "optax.lamb(0.125)"),
        ("X = np", "class Own:\n    def update(self, grads, state, params):\n        return grads, state\n\n\nX = np"),
        ("optax.apply_updates(params, updates)", "optax.apply_updates(params, {'w': jnp.ones(3)})"),
        ("optax.apply_updates(params, updates)", "optax.incremental_update(params, updates, 0.1)"),
    ],
)
def test_what_asks_more_keeps_arrays_stacked(old: str, new: str) -> None:
    program = PROGRAM.replace(old, new).replace("USE", "pass")
    found = plan({"main.py": program})
    assert "replicated" not in [one.layout for site in found.sites for one in (*site.arguments, *site.outputs)]
