"""JM212, and initialisation that is right beside it; each program ran on 8 devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """\
from functools import partial
import jax
import jax.numpy as jnp
import optax
from flax import jax_utils, linen as nn
from flax.training.common_utils import shard_prng_key
from flax.training.train_state import TrainState

model = nn.Dense(3)
tx = optax.sgd(0.1)
x = jnp.ones((1, 4))

def create(key):
    params = model.init(key, x)["params"]
    return TrainState.create(apply_fn=model.apply, params=params, tx=tx)

@partial(jax.pmap, axis_name="batch")
def step(state, batch):
    def loss_fn(params):
        return jnp.mean(state.apply_fn({"params": params}, batch) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    grads = {reduced}
    return state.apply_gradients(grads=grads), loss

def main():
    n = jax.local_device_count()
    key = jax.random.key(0)
    batch = jnp.ones((n, 2, 4))
    {made}
    for _ in range(3):
        state, loss = step(state, batch)
"""
MEAN = 'jax.lax.pmean(grads, "batch")'
WRONG = {
    "a map of the function": "state = jax.pmap(create)(jax.random.split(key, n))",
    "a name for the map": "init = jax.pmap(create)\n    keys = jax.random.split(key, n)\n    state = init(keys)",
    "flax's keys": "key = shard_prng_key(key)\n    state = jax.pmap(create, axis_name='batch')(key)",
    "vmap": "state = jax.vmap(create)(jax.random.split(key, n))",
    "a lambda": "state = jax.pmap(lambda k: create_with(k, model.init(k, x)))(jax.random.split(key, n))",
}
RIGHT = {
    "one for all": "state = jax_utils.replicate(create(key))",
    "one key for all": "state = jax.pmap(create)(jax_utils.replicate(key))",
    "the first of them": (
        "state = jax.pmap(create)(jax.random.split(key, n))\n"
        "    state = jax_utils.replicate(jax_utils.unreplicate(state))"
    ),
    "made equal": (
        "state = jax.pmap(lambda k: jax.lax.pmean(model.init(k, x), 'batch'), axis_name='batch')"
        "(jax.random.split(key, n))"
    ),
    "another state": "other = jax.pmap(create)(jax.random.split(key, n))\n    state = jax_utils.replicate(create(key))",
}


def codes(made: str, reduced: str = MEAN) -> list[str]:
    """What lint says of how the state is made."""
    text = PROGRAM.replace("{made}", made).replace("{reduced}", reduced)
    found = lint([decode(text.encode(), "train.py", Path("/project/train.py"))], Config())
    return [one.code for one in found if one.code == "JM212"]


@pytest.mark.parametrize("name", WRONG)
def test_parameters_that_start_unlike(name: str) -> None:
    assert codes(WRONG[name]) == ["JM212"]


@pytest.mark.parametrize("name", RIGHT)
def test_parameters_that_start_equal(name: str) -> None:
    assert codes(RIGHT[name]) == []


def test_networks_that_are_trained_apart() -> None:
    assert codes(WRONG["a map of the function"], "grads") == []
