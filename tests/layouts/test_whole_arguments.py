"""A state of which maps alone are given the first slice, before one is donated it, is given as it is."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run, run_in_processes

PROGRAM = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

def step(params, batch):
    grads = jax.lax.pmean(params * batch.mean(0), "batch")
    return params - grads, grads.sum()

p_step = jax.pmap(step, axis_name="batch", donate_argnums=0)

def make():
    return jax.pmap(lambda w, scale, x: (x * w * scale).sum(), in_axes=(None, None, 0))

def render(fn, x):
    return [fn(x), fn(x + 1)]

def main():
    params = jax_utils.replicate(jnp.arange(3.0) + 1 + 0 * jax.process_index())
    batch = np.arange(24 * jax.local_device_count(), dtype=np.float32).reshape(-1, 3)
    rows = batch.reshape(jax.local_device_count(), -1, 3)
    show, logs = make(), []
    for i in range(3):
        params, loss = p_step(params, shard(batch))
        logs.append(float(loss[0]))
LOOK
    return logs, jax_utils.unreplicate(params)
"""
TAKEN = "one = jax_utils.unreplicate(params)\n"
SHOWN = "logs.append(render(functools.partial(show, one, 0.5), rows))"
TRAIN = "def train(params, batch):\n    return p_step(params, batch)\n"
LENT = {
    "bound and called": ("", TAKEN + SHOWN),
    "another statement between": ("", f"{TAKEN}size = len(rows)\n{SHOWN}"),
    "twice": ("", f"{TAKEN}{SHOWN}\n{SHOWN}"),
    "a function that steps elsewhere": (TRAIN, f"params, loss = train(params, shard(batch))\n{TAKEN}{SHOWN}"),
}
COPIED = {
    "a step between": ("", f"{TAKEN}params, loss = p_step(params, shard(batch))\n{SHOWN}"),
    "a function that steps between": (TRAIN, f"{TAKEN}params, loss = train(params, shard(batch))\n{SHOWN}"),
    "one that calls it between": (
        f"{TRAIN}\ndef twice(params, batch):\n    return train(train(params, batch)[0], batch)\n",
        f"{TAKEN}params, loss = twice(params, shard(batch))\n{SHOWN}",
    ),
    "kept by the function": (
        "HELD = []\ndef keep(fn, x):\n    HELD.append(fn)\n    return fn(x)\n",
        f"{TAKEN}{SHOWN.replace('render', 'keep')}",
    ),
    "looked at by the function": (
        "def look(fn, x):\n    return fn(x), fn.args[1]\n",
        f"{TAKEN}{SHOWN.replace('render', 'look')}",
    ),
    "called late by the function": (
        "def late(fn, x):\n    yield fn(x)\n",
        f"{TAKEN}{SHOWN.replace('append', 'extend').replace('render', 'late')}",
    ),
    "computed with as well": ("", f"{TAKEN}{SHOWN}\nlogs.append(one * 2)"),
    "read in the next round": ("", f"if i:\n    {SHOWN}\n{TAKEN.strip()}"),
    "read by a function within": ("", f"{TAKEN}again = lambda: {SHOWN}\nagain()"),
    "held by a name": ("", f"{TAKEN}bound = functools.partial(show, one, 0.5)\nlogs.append(render(bound, rows))"),
    "taken in one of two ways": ("", f"one = jnp.ones(3)\nif i:\n    {TAKEN}{SHOWN}"),
    "a step that is handed on": (
        f"{TRAIN}\nHELD = []\ndef late(fn):\n    HELD.append(fn)\n    return fn\n",
        f"params, loss = late(train)(params, shard(batch))\n{TAKEN}{SHOWN}",
    ),
    "an object that steps": (
        "class Trainer:\n    def __call__(self, params, batch):\n        return p_step(params, batch)\n",
        f"params, loss = Trainer()(params, shard(batch))\n{TAKEN}{SHOWN}",
    ),
    "a generator that steps": (
        (
            "def steps(params, batch):\n    while True:\n        params, loss = p_step(params, batch)\n"
            "        yield params\n"
        ),
        f"params = next(steps(params, shard(batch)))\n{TAKEN}{SHOWN}",
    ),
}


def files_of(more: str, look: str) -> tuple[dict[str, str], dict[str, str]]:
    text = PROGRAM.replace("LOOK", "\n".join(f"        {line}" for line in look.split("\n")))
    before = {"main.py": text.replace("def main():", f"{more}\ndef main():")}
    return before, fix_files(before, "auto")


@pytest.mark.parametrize("name", LENT)
def test_what_maps_alone_are_given_is_the_array_itself(name: str) -> None:
    text = files_of(*LENT[name])[1]["main.py"]
    assert "one = params\n" in text or "(show, params, 0.5)" in text
    assert text.count("jnp.copy(x.addressable_data(0))") == 1  # of the parameters that are returned


@pytest.mark.parametrize("name", COPIED)
def test_what_may_outlast_a_donation_is_copied(name: str) -> None:
    text = files_of(*COPIED[name])[1]["main.py"]
    assert "one = params\n" not in text
    assert "(show, params, 0.5)" not in text


@pytest.mark.long
def test_all_give_the_same_numbers_on_one_process_and_on_two() -> None:
    programs = [Program(name, *files_of(*LENT[name])) for name in LENT]
    found = [*run(programs), *run_in_processes(programs)]
    assert {(v.name, v.verdict, v.text) for v in found} == {(name, "agrees", "") for name in LENT}
