"""JM201 of methods whose object is mapped like any other argument, and JM207 of sums within a loss; right ones too."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

STATE = """
import functools
from typing import Any
import jax
import jax.numpy as jnp
import optax
from flax import struct


@struct.dataclass
class State:
    params: Any
    opt_state: Any
    opt: Any = struct.field(pytree_node=False)

    @functools.partial(jax.pmap, axis_name="device")
    def mapped(self, minibatch):
        return {call}

    def step(self, minibatch, parallel):
        def loss_fn(params):
            return jnp.mean(optax.softmax_cross_entropy(logits=minibatch["x"] @ params, labels=minibatch["y"]))

        grads = jax.grad(loss_fn)(self.params)
        {before}
        updates, opt_state = self.opt.update(grads, self.opt_state, self.params)
        {after}
        return self.replace(params=optax.apply_updates(self.params, updates), opt_state=opt_state)
"""
AVERAGED = 'if parallel:\n            grads = jax.lax.pmean(grads, "device")'


def codes(text: str) -> set[str]:
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return {one.code for one in found if one.code.startswith("JM2")}


@pytest.mark.parametrize("call", ["self.step(minibatch, True)", "State.step(self, minibatch, parallel=True)"])
def test_what_a_mapped_method_calls_of_its_object_is_read(call: str) -> None:
    assert codes(STATE.format(call=call, before=AVERAGED, after="pass")) == set()
    assert codes(STATE.format(call=call, before="pass", after=AVERAGED)) == {"JM201"}
    assert codes(STATE.format(call=call.replace("True", "False"), before=AVERAGED, after="pass")) == {"JM201"}


LOSS = """
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn


def step(params, state, x, y):
    def loss_fn(params):
        each = {each}
        loss = {loss}
        return loss, each

    (loss, each), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    grads = {grads}
    updates, state = optax.adam(1e-3).update(grads, state, params)
    return optax.apply_updates(params, updates), state


step = jax.pmap(step, "device")
"""
MEAN = "jax.lax.pmean(grads, 'device')"
SUMMED = "jax.lax.psum(jnp.mean(each), 'device')"


@pytest.mark.parametrize(
    ("each", "loss", "grads", "expected"),
    [
        ("optax.softmax_cross_entropy(x @ params, y)", SUMMED, MEAN, True),
        ("optax.l2_loss(x @ params, y)", SUMMED, MEAN, True),
        ("nn.relu(x @ params - y)", SUMMED, MEAN, True),
        ("(x @ params - y) ** 2", SUMMED, MEAN, True),
        ("(x @ params - y) ** 2", f"{SUMMED} + 0.1", MEAN, True),
        ("(x @ params - y) ** 2", f"{SUMMED} / 8", MEAN, False),
        ("(x @ params - y) ** 2", f"{SUMMED} / jax.lax.axis_size('device')", MEAN, False),
        ("(x @ params - y) ** 2", SUMMED, f"jax.tree.map(lambda g: g / 8, {MEAN})", False),
        ("(x @ params - y) ** 2", SUMMED.replace("psum", "pmean"), MEAN, False),
        ("(x @ params - y) ** 2", "jax.lax.psum(each.sum(), 'device') / jax.lax.psum(y.size, 'device')", MEAN, False),
        ("(x @ params - y) ** 2", "jax.lax.psum(each.sum() / 256, 'device')", MEAN, False),
    ],
)
def test_sums_of_means_within_a_loss(each: str, loss: str, grads: str, expected: bool) -> None:
    assert ("JM207" in codes(LOSS.format(each=each, loss=loss, grads=grads))) == expected
