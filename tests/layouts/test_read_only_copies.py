"""Which evaluators are lent stacked arrays of a trainer whose state is replicated otherwise: those that only read."""

from __future__ import annotations

import re

import pytest

from tests.layouts.evaluators import CHANGES, evaluated
from tests.layouts.running import plan
from tests.layouts.test_presumed import layouts
from tests.layouts.test_presumed import plan as likely

LENT = {"shared", "of_two_readers", "with_a_later_reader", "by_variables"}


@pytest.mark.parametrize("name", CHANGES)
def test_only_readers_are_lent_to(name: str) -> None:
    found = plan({"main.py": evaluated(name)})
    lends = re.search(r"evaluator\.run_all\(\s*stack\(state\)", found.files[0].after) is not None
    replicated = any(array.layout == "replicated" for site in found.sites for array in site.arguments)
    assert lends is replicated is (name in LENT)


TRAINER = """\
import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import telemetry
from flax import jax_utils, struct
from flax.training import common_utils


class State(struct.PyTreeNode):
    loss: Callable = struct.field(pytree_node=False)
    extra: Any = struct.field(pytree_node=False)
    kernel: Any = None


class Base:
    def setup(self):
        kernel = jnp.arange(3.0)
        self.state = jax_utils.replicate(MADE)
        self.p_step = jax.pmap(self.step, axis_name="i")

    @property
    def shown(self):
        return self.state


class Trainer(Base):
    def __init__(self):
        START
        self.setup()
        REPORT

    def step(self, state, batch):
        grads = jax.lax.pmean(jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(state.kernel), "i")
        return state.replace(kernel=state.kernel - grads)

    def run(self, batches):
        for batch in batches:
            self.state = self.p_step(self.state, common_utils.shard(batch))
        return jax_utils.unreplicate(self.state).kernel


RESULT = np.asarray(Trainer().run([np.ones((16, 3), np.float32)])).tolist()
"""
LENT_WHOLE = {
    "an attribute": "telemetry.log(self.state)",
    "by another object's name": "trainer = self; telemetry.log(trainer.state)",
    "a learned field": "telemetry.log(self.state.kernel)",
}
NOT_LENT = {
    "a field of the tree that is a part of its type": "telemetry.log(self.state.extra)",
    "in each round": "for _ in range(2): telemetry.log(self.state)",
}


def trainer(report: str, start: str = "pass") -> dict[str, str]:
    text = TRAINER.replace("REPORT", report).replace("START", start)
    return {"main.py": text.replace("MADE", "State(loss=jnp.mean, extra=3, kernel=kernel)")}


def state_of(files: dict[str, str]) -> str:
    return layouts(likely(files))[0][0]


@pytest.mark.parametrize("way", LENT_WHOLE)
def test_a_reader_is_lent_what_an_object_holds(way: str) -> None:
    assert state_of(trainer(LENT_WHOLE[way])) == "replicated"


@pytest.mark.parametrize("way", NOT_LENT)
def test_a_reader_is_not_lent(way: str) -> None:
    assert state_of(trainer(NOT_LENT[way])) == "stacked"


def test_an_attribute_that_is_none_at_first_is_lent_no_less() -> None:
    assert state_of(trainer("telemetry.log(self.state)", "self.state = None")) == "replicated"
