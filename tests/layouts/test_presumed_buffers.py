"""Batches from out of sight that the program writes into again: copied where the map is given them, as pmap did."""

from __future__ import annotations

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

import source


def step(w, batch, rate):
    grad = jax.grad(lambda w: jnp.mean((batch["x"] @ w) ** 2))(w)
    return w - rate * jax.lax.pmean(grad, "d")


p_step = jax.pmap(step, axis_name="d", in_axes=(0, 0, None))
w = jax_utils.replicate(jnp.ones(3))
for batch in source.MAKERS["batches"](3):
    batch["x"][0] *= 2
    w = p_step(w, batch, {rate})
    batch["x"][:] = 0
RESULT = w[0].tolist()
"""
SOURCE = """\
import numpy as np

HELD = []


def batches(count):
    x = np.zeros((8, 2, 3), np.float32)
    for i in range(count):
        x += np.sin(np.arange(48) + i).reshape(8, 2, 3)
        HELD.append(x)
        yield {"x": x}


def rate():
    return 0.125


def rate_and_write():
    HELD[-1][:] += 1
    return 0.125


MAKERS = {"batches": batches, "rate": rate, "rate_and_write": rate_and_write}
"""


def test_a_batch_that_is_written_again_is_copied_at_the_call() -> None:
    program = {"main.py": MAIN.format(rate="0.125"), "source.py": SOURCE}
    found = plan(program)
    assert layouts(found)[0] == ["replicated", "split", "broadcast"]
    before, after = both("written", program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_what_the_other_arguments_do_is_an_assumption() -> None:
    program = {"main.py": MAIN.format(rate='source.MAKERS["rate"]()'), "source.py": SOURCE}
    found = plan(program)
    assert layouts(found)[0] == ["replicated", "split", "broadcast"]
    said = "the other arguments of `p_step` do not write into `batch`"
    assert said in [one.says for one in found.sites[0].assumed]
    before, after = both("beside", program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_an_argument_that_writes_differs_by_what_was_assumed() -> None:
    program = {"main.py": MAIN.format(rate='source.MAKERS["rate_and_write"]()'), "source.py": SOURCE}
    before, after = both("writes", program, plan(program))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] != after["result"]
