"""States that functions are given, that calls give in tuples, and that objects hold: what likely presumes of them."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np

import source


def loss_of(params, batch):
    return jnp.mean((batch["x"] @ params["w"] - batch["y"]) ** 2)


def step(params, opt_state, batch):
    loss, grads = jax.value_and_grad(loss_of)(params, batch)
    grads = jax.lax.pmean(grads, "d")
    params = jax.tree.map(lambda p, g: p - 0.125 * g, params, grads)
    return params, opt_state + 1, jax.lax.pmean(loss, "d")


p_step = jax.pmap(step, axis_name="d")


{code}


RESULT = {result}
"""
SOURCE = """\
import jax
import numpy as np


def make_both():
    weights = {"w": np.stack([np.arange(3, dtype=np.float32) / 7 for _ in range(8)])}
    return weights, np.zeros(8, np.float32)


def make_batches(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield {"x": rng.normal(size=(8, 2, 3)).astype("f4"), "y": rng.normal(size=(8, 2)).astype("f4")}


def drive(function, *given):
    return function(*given)


class Held:
    pass


def hold():
    held = Held()
    held.params, held.opt_state = make_both()
    return held


MAKERS = {"both": make_both, "batches": make_batches, "drive": drive, "hold": hold}
"""
GIVEN = """\
def train(params, opt_state, batches):
    \"\"\"Trains.\"\"\"
    losses = []
    for batch in batches:
        params, opt_state, loss = p_step(params, opt_state, batch)
        losses.append(float(loss[0]))
    return losses, float(opt_state[0]), np.asarray(params["w"][0]).tolist()"""
DRIVEN = 'source.MAKERS["drive"](train, *source.MAKERS["both"](), source.MAKERS["batches"](3))'
UNPACKED = """\
def main():
    params, opt_state = source.MAKERS["both"]()
    losses = []
    for batch in source.MAKERS["batches"](3):
        params, opt_state, loss = p_step(params, opt_state, batch)
        losses.append(float(loss[0]))
    return losses, float(opt_state[0]), np.asarray(params["w"][0]).tolist()"""
BRANCHES = """\
def main(resume):
    if resume:
        with open(__file__):
            params, opt_state = source.MAKERS["both"]()
    else:
        params, opt_state = source.MAKERS["both"]()
    losses = []
    for batch in source.MAKERS["batches"](3):
        params, opt_state, loss = p_step(params, opt_state, batch)
        losses.append(float(loss[0]))
    return losses, float(opt_state[0]), np.asarray(params["w"][0]).tolist()"""
HELD = """\
def main():
    held = source.MAKERS["hold"]()
    losses = []
    for batch in source.MAKERS["batches"](3):
        _, _, loss = p_step(held.params, held.opt_state, batch)
        losses.append(float(loss[0]))
    return losses"""


def files(code: str, result: str, source: str = SOURCE) -> dict[str, str]:
    """A program of two files."""
    return {"main.py": MAIN.format(code=code, result=result), "source.py": source}


ATTRIBUTES = """\
class Trainer:
    def __init__(self):
        self.params, self.opt_state = source.MAKERS["both"]()

    def run(self):
        losses = []
        for batch in source.MAKERS["batches"](3):
            self.params, self.opt_state, loss = p_step(self.params, self.opt_state, batch)
            losses.append(float(loss[0]))
        return losses, float(self.opt_state[0]), np.asarray(self.params["w"][0]).tolist()"""
WAYS = {
    "attributes": (ATTRIBUTES, "Trainer().run()"),
    "given": (GIVEN, DRIVEN),
    "unpacked": (UNPACKED, "main()"),
    "held": (HELD, "main()"),
    "branches": (BRANCHES, "main(True)"),
}


@pytest.mark.parametrize("way", WAYS)
def test_states_from_out_of_sight_are_presumed_wherever_they_come_in(way: str) -> None:
    program = files(*WAYS[way])
    assert set(layouts(plan(program, "auto"))[0]) == {"stacked"}
    found = plan(program)
    assert layouts(found)[0] == ["replicated", "replicated", "split"]
    said = [one.says for one in found.sites[0].assumed]
    assert any("params` holds the same slice for every device" in one for one in said)
    before, after = both(way, program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize("way", WAYS)
def test_fewer_rows_than_devices_raise(way: str) -> None:
    source = SOURCE.replace("range(8)", "range(4)").replace("zeros(8,", "zeros(4,").replace("size=(8,", "size=(4,")
    before, after = both(way, files(*WAYS[way], source), plan(files(*WAYS[way], source)))
    assert not before["error"]
    assert "reshape" in str(after["error"])


@pytest.mark.parametrize("way", WAYS)
def test_states_that_differ_are_what_the_assumption_names(way: str) -> None:
    source = SOURCE.replace("/ 7 for _ in range(8)", "/ (7 + i) for i in range(8)")
    program = files(*WAYS[way], source)
    found = plan(program)
    before, after = both(way, program, found)
    assert not before["error"]
    assert before["result"] != after["result"]
    assert any("params` holds the same slice for every device" in one.says for one in found.sites[0].assumed)


RETURNED = """\
def advance(params, opt_state, batch):
    return p_step(params, opt_state, batch)


def main(advance):
    params, opt_state = source.make_both()
    for batch in source.make_batches(3):
        params, opt_state, loss = source.MAKERS["drive"](advance, params, opt_state, batch)
    return np.asarray(params["w"][5]).tolist(), np.asarray(loss).tolist()"""


def test_what_a_function_hands_back_to_callers_out_of_sight_keeps_its_device_axis() -> None:
    program = files(RETURNED, "main(advance)")
    found = plan(program)
    assert set(layouts(found)[1]) == {"stacked"}
    before, after = both("returned", program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


CALLED_IN_TWO_WAYS = """\
from flax import jax_utils


def evaluate(params, batches):
    return [float(p_step(params, jax_utils.replicate(jnp.zeros(())), batch)[2][0]) for batch in batches]


def main():
    params, _ = source.MAKERS["both"]()
    own = jax_utils.replicate({"w": jnp.ones(3)})
    return evaluate(params, source.make_batches(2)), evaluate(own, source.make_batches(2))"""


def test_a_function_that_is_given_a_state_from_here_and_from_elsewhere_gives_the_same() -> None:
    program = files(CALLED_IN_TWO_WAYS, "main()")
    before, after = both("two ways", program, plan(program))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_key_among_what_is_unpacked_stays_one_of_each_device() -> None:
    source = SOURCE.replace("return weights, np.zeros(8, np.float32)", "return weights, np.arange(8.0, dtype='f4')")
    code = UNPACKED.replace("opt_state", "rng")
    program = {name: text.replace("opt_state", "rng") for name, text in files(code, "main()", source).items()}
    found = plan(program)
    assert layouts(found)[0] == ["replicated", "stacked", "split"]
    before, after = both("key", program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


REPLICATED_BELOW = """\
from flax import jax_utils


def main(resume):
    params = source.make_params()
    if resume:
        params = jax.tree.map(lambda x: x * 2, params)
    params = jax_utils.replicate(params)
    opt_state = jax_utils.replicate(jnp.zeros(()))
    for batch in source.MAKERS["batches"](3):
        params, opt_state, loss = p_step(params, opt_state, batch)
    return np.asarray(params["w"][0]).tolist()"""
HARMFUL = """\
def report(params):
    return [float(p_step(params, jnp.zeros(8), batch)[2][0]) for batch in source.MAKERS["batches"](1)]


def main():
    params, opt_state = source.MAKERS["both"]()
    found = report({"w": jnp.stack([jnp.ones(3) * i for i in range(8)])})
    for batch in source.MAKERS["batches"](3):
        params, opt_state, loss = p_step(params, opt_state, batch)
    return found, np.asarray(params["w"][0]).tolist()"""


@pytest.mark.parametrize("code", [REPLICATED_BELOW, HARMFUL], ids=["replicated below", "harmful"])
def test_what_is_presumed_does_no_harm_to_the_rest(code: str) -> None:
    source = SOURCE + "\n\ndef make_params():\n    return {'w': np.ones(3, np.float32)}\n"
    program = files(code, "main(True)" if "resume" in code else "main()", source)
    found = plan(program)
    assert layouts(found)[0][2] == "split"
    before, after = both("no harm", program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
