"""States that a step out of sight is given and gives back: a reader takes them to stay equal on all devices."""

from __future__ import annotations

import pytest

from tests.layouts.running import Program, run
from tests.layouts.test_presumed import layouts, plan

AGENTS = """\
import jax
import jax.numpy as jnp


class Agent:
    reduces = True

    def create_state(self):
        return jnp.arange(3.0)

    def train(self, state, batch, rng=None):
        loss, grad = jax.value_and_grad(lambda w: jnp.mean((batch @ w) ** 2))(state)
        if self.reduces:
            grad = jax.lax.pmean(grad, "batch")
        return state - 0.125 * grad, loss

    def apply(self, state, batch):
        return batch @ state


class Own(Agent):
    reduces = False
"""
MAIN = """\
import functools
import importlib
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
import agents


def train_step({state}, batch, agent, rng):
    {body}


def main(agent):
    state = {made}
    step = jax.pmap({mapped}{axis})
    for i in range(2):
        state, loss = step(state, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    return np.asarray({taken}).tolist()


RESULT = main(agents.{agent}())
"""
BODY = "new_state, loss = agent.train(state=state, batch=batch, rng=rng)\n    return new_state, loss"
PARTIAL = "functools.partial(train_step, agent=agent, rng=jax.random.PRNGKey(0))"
SAYS = "keeps its state the same on every device"


def program(**parts: str) -> str:
    given = {"state": "state", "body": BODY, "mapped": PARTIAL, "axis": ', axis_name="batch"', "agent": "Agent"}
    made = {"made": "jax_utils.replicate(agent.create_state())", "taken": "jax_utils.unreplicate(state)"}
    return MAIN.format(**{**given, **made, **parts})


STEPS = {
    "unpacked": program(),
    "returned": program(body="return agent.train(state, batch, rng)"),
    "method": program(mapped="agent.train"),
    "named": program(body="state, loss = agent.train(state, batch)\n    return state, loss"),
}


def runs(text: str, after: str) -> tuple[dict[str, object], dict[str, object]]:
    agents = {"agents.py": AGENTS}
    out = run([Program("before", {"main.py": text, **agents}), Program("after", {"main.py": after, **agents})])
    return out["before"], out["after"]


@pytest.mark.parametrize("name", STEPS)
def test_a_state_that_comes_back_from_a_step_out_of_sight_is_presumed_equal(name: str) -> None:
    files = {"main.py": STEPS[name]}
    assert layouts(plan(files, "auto"))[0][0] == "stacked"
    found = plan(files)
    assert (layouts(found)[0], layouts(found)[1][0]) == (["replicated", "split"], "replicated")
    assert any(SAYS in one.says for site in found.sites for one in site.assumed)
    before, after = runs(STEPS[name], found.files[0].after)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_state_that_differs_is_what_the_assumption_names() -> None:
    text = program(agent="Own", taken="state")
    found = plan({"main.py": text.replace("np.asarray(state)", "np.asarray(jax_utils.unreplicate(state))")})
    assert any(SAYS in one.says for site in found.sites for one in site.assumed)


UNLIKE = {
    "no axis": program(axis=""),
    "not made equal": program(made="jnp.stack([agent.create_state() + i for i in range(8)])"),
    "all of it is taken": program(taken="state"),
    "made of what is not the state": program(
        body="out = agent.apply(state, batch)\n    new_state = state - 0.125 * out.mean()\n    return new_state, out"
    ),
    "worked on after it": program(
        body="state, loss = agent.train(state, batch)\n    state = state + batch.mean()\n    return state, loss"
    ),
    "one of two ways": program(
        body="if rng.ndim > 1:\n        return agent.train(state, batch)\n    return state + batch.sum(), state"
    ),
    "a device's own by its name": program(
        state="env_state", body="env_state, loss = agent.train(env_state, batch)\n    return env_state, loss"
    ),
    "the other part": program(body="loss, new_state = agent.train(state, batch)[::-1]\n    return new_state, loss"),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_what_a_reader_would_not_take_for_equal_stays_stacked(name: str) -> None:
    found = plan({"main.py": UNLIKE[name]})
    assert layouts(found)[1][0] != "replicated"
    assert not any(SAYS in one.says for site in found.sites for one in site.assumed)
    before, after = runs(UNLIKE[name], found.files[0].after)
    assert bool(before["error"]) == bool(after["error"])
    assert before["result"] == after["result"]
