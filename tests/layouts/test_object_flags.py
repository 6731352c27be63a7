"""Trainers with a flag that says whether they map: what their attributes hold hangs on it as long as it stays."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

HEAD = """\
import copy
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def batches():
    for i in range(2):
        yield np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)


"""
TRAINER = """\
class Trainer:
    def __init__(self, use_pmap: bool):
        self.use_pmap = use_pmap
        params = {"w": jnp.arange(3.0)}
        if self.use_pmap:
            self.params = jax_utils.replicate(params)
            self.step_fn = jax.pmap(self.step, axis_name="i")
        else:
            self.params = params
            self.step_fn = jax.jit(self.step)

    def step(self, params, batch):
        grads = jax.grad(lambda p: jnp.mean((batch @ p["w"]) ** 2))(params)
        if self.use_pmap:
            grads = jax.lax.pmean(grads, "i")
        return jax.tree_util.tree_map(lambda p, g: p - 0.125 * g, params, grads)

    def prepare(self, batch):
        if self.use_pmap:
            return shard(batch)
        return batch

    def fit(self):
        for batch in batches():
            batch = self.prepare(batch)
            self.params = self.step_fn(self.params, batch)

    def result(self):
        if self.use_pmap:
            return jax_utils.unreplicate(self.params)
        return self.params


"""
RUN = """\
trainer = Trainer(True)
trainer.fit()
RESULT = np.asarray(trainer.result()["w"]).tolist()
"""
SHOWN = 'RESULT = [np.asarray(one["w"]).tolist() for one in ({})]\n'
GLOBAL = (["replicated", "split"], ["replicated"])
MADE = TRAINER[TRAINER.index("        params = {") : TRAINER.index("    def step")]
BRANCHES = TRAINER[TRAINER.index("        if self.use_pmap:\n            self.params") : TRAINER.index("    def step")]


def program(text: str = TRAINER, calls: str = RUN) -> dict[str, str]:
    return {"main.py": HEAD + text + calls}


def trainer(old: str, new: str, text: str = TRAINER) -> str:
    assert old in text
    return text.replace(old, new)


PROVEN = {
    "in the constructor": program(),
    "asked of the parameter": program(trainer(BRANCHES, BRANCHES.replace("self.use_pmap", "use_pmap"))),
    "made a truth value": program(trainer("self.use_pmap = use_pmap", "self.use_pmap = bool(use_pmap)")),
    "counted": program(
        trainer("if self.use_pmap", "if self.n > 1", trainer("self.use_pmap = use_pmap", "self.n = jax.device_count()"))
    ),
    "chosen": program(
        trainer(
            BRANCHES,
            "        self.params = jax_utils.replicate(params) if use_pmap else params\n"
            '        self.step_fn = jax.pmap(self.step, axis_name="i") if use_pmap else jax.jit(self.step)\n\n',
        )
    ),
    "made by a method": program(
        trainer(
            MADE,
            MADE.replace("jax_utils.replicate(params)", "self.create()").replace("= params\n", "= self.create()\n")
            + '    def create(self):\n        params = {"w": jnp.arange(3.0)}\n'
            "        return jax_utils.replicate(params) if self.use_pmap else params\n\n",
        )
    ),
    "of a variable": program(
        trainer(
            "        for batch in batches():\n            batch = self.prepare(batch)\n",
            "        mapped = self.use_pmap\n        for batch in batches():\n"
            "            batch = shard(batch) if mapped else batch\n",
        )
    ),
    "two objects": program(
        calls="made = Trainer(True), Trainer(False)\nmade[0].fit()\nmade[1].fit()\n"
        + SHOWN.format("made[0].result(), made[1].result()")
    ),
    "replicated in place": program(
        trainer(
            MADE,
            '        self.params = {"w": jnp.arange(3.0)}\n'
            + BRANCHES.replace("replicate(params)", "replicate(self.params)").replace(
                "            self.params = params\n", ""
            ),
        )
    ),
    "under the name of the method": program(trainer("self.step_fn", "self.step")),
    "the method where it does not map": program(
        trainer(
            "self.step_fn",
            "self.step",
            trainer("            self.step_fn = jax.jit(self.step)\n", ""),
        )
    ),
    "derived": program(
        trainer("    def fit", "\n\nclass Fitting(Trainer):\n    def fit"), RUN.replace("Trainer(", "Fitting(")
    ),
}


@pytest.mark.parametrize("name", PROVEN)
def test_attributes_are_global_where_a_flag_that_stays_decides(name: str) -> None:
    found = plan(PROVEN[name], "auto")
    assert layouts(found) == GLOBAL
    before, after = both("program", PROVEN[name], found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


SET = "trainer = Trainer(True)\ntrainer.fit()\nfirst = trainer.params\n"
AND_SHOWN = SHOWN.format("trainer.result(), first")
CHANGES = {
    "set outside": program(calls=SET + "trainer.use_pmap = False\n" + AND_SHOWN),
    "set by name": program(calls=SET + "setattr(trainer, 'use_' + 'pmap', False)\n" + AND_SHOWN),
    "set as an entry": program(calls=SET + "trainer.__dict__['use_pmap'] = False\n" + AND_SHOWN),
    "set in a copy": program(
        calls=SET + "other = copy.copy(trainer)\nother.use_pmap = False\n" + SHOWN.format("other.result(), first")
    ),
    "made anew": program(calls=SET + "trainer.__init__(False)\ntrainer.params = first\n" + AND_SHOWN),
    "turned by a method": program(
        trainer("    def result", "    def turn(self):\n        self.use_pmap = not self.use_pmap\n\n    def result"),
        SET + "trainer.turn()\n" + AND_SHOWN,
    ),
    "a property": program(
        TRAINER
        + "class Other(Trainer):\n    asked = 0\n\n    @property\n    def use_pmap(self):\n        Other.asked += 1\n"
        "        return Other.asked < 6\n\n    @use_pmap.setter\n    def use_pmap(self, value):\n        pass\n\n\n",
        SET.replace("Trainer(", "Other(") + AND_SHOWN,
    ),
    "a parameter that is bound again": program(
        trainer(
            BRANCHES,
            "        use_pmap = use_pmap and jax.device_count() > 100\n"
            + BRANCHES.replace("self.use_pmap", "use_pmap").replace("self.step_fn = jax.jit(self.step)", "pass"),
        ),
        "trainer = Trainer(True)\nfirst = trainer.params\n" + SHOWN.format("first, first"),
    ),
    "handed to another": program(
        calls="one, two = Trainer(True), Trainer(False)\none.fit()\ntwo.params = one.params\n"
        + SHOWN.format("two.result(), one.result()")
    ),
    "taken from another": program(
        trainer("    def result", "    def take(self, other):\n        self.params = other.params\n\n    def result"),
        "one, two = Trainer(True), Trainer(False)\none.fit()\ntwo.take(one)\n"
        + SHOWN.format("two.result(), one.result()"),
    ),
    "methods of another": program(
        calls="one, two = Trainer(True), Trainer(False)\ntwo.prepare, two.step_fn = one.prepare, one.step_fn\n"
        "two.params = one.params\ntwo.fit()\n" + SHOWN.format("two.result(), one.result()")
    ),
    "a method that runs before it is mapped": program(
        trainer(
            "self.step_fn",
            "self.step",
            trainer(
                "self.use_pmap = use_pmap",
                "self.use_pmap = use_pmap\n        self.first = self.step({'w': jnp.ones(3)}, next(batches()))",
                trainer('        if self.use_pmap:\n            grads = jax.lax.pmean(grads, "i")\n', ""),
            ),
        ),
        "trainer = Trainer(True)\ntrainer.fit()\n" + SHOWN.format("trainer.first, trainer.params"),
    ),
    "mapped only now and then": program(
        trainer(
            "self.step_fn",
            "self.step",
            trainer(
                "            self.step_fn = jax.pmap(",
                "            if len(params) > 1:\n                self.step_fn = jax.pmap(",
                trainer('        if self.use_pmap:\n            grads = jax.lax.pmean(grads, "i")\n', ""),
            ),
        ),
        "trainer = Trainer(True)\nfirst = trainer.params\n" + SHOWN.format("first, first"),
    ),
    "read before it is replicated": program(
        trainer(
            MADE,
            '        self.params = {"w": jnp.arange(3.0)}\n        self.first = self.result()\n'
            + BRANCHES.replace("replicate(params)", "replicate(self.params)").replace(
                "            self.params = params\n", ""
            ),
            trainer("        if self.use_pmap:\n            return jax_utils.unreplicate(self.params)\n", ""),
        ),
        "trainer = Trainer(True)\ntrainer.fit()\n" + SHOWN.format("trainer.first, trainer.result()"),
    ),
    "each device's own": program(
        trainer("jax_utils.replicate(params)", '{"w": jnp.arange(24.0).reshape(8, 3)}'),
        "trainer = Trainer(True)\ntrainer.fit()\n" + SHOWN.format("trainer.params, trainer.result()"),
    ),
    "not reduced": program(
        trainer('        if self.use_pmap:\n            grads = jax.lax.pmean(grads, "i")\n', ""),
        "trainer = Trainer(True)\ntrainer.fit()\n" + SHOWN.format("trainer.params, trainer.result()"),
    ),
    "reduced in the other case": program(
        trainer("        if self.use_pmap:\n            grads", "        if not self.use_pmap:\n            grads"),
        "trainer = Trainer(True)\ntrainer.fit()\n" + SHOWN.format("trainer.params, trainer.result()"),
    ),
    "of some devices": program(
        trainer(
            "jax_utils.replicate(params)",
            "jax.tree_util.tree_map(lambda x: jnp.stack([x] * 4), params)",
            trainer("shard(batch)", "batch.reshape((4, -1) + batch.shape[1:])"),
        ),
        "trainer = Trainer(True)\ntrainer.fit()\n" + SHOWN.format("trainer.params, trainer.result()"),
    ),
    "read from outside": program(
        calls="trainer = Trainer(True)\ntrainer.fit()\n" + SHOWN.format("trainer.params, trainer.result()")
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("layout", ["auto", "likely"])
def test_what_may_hold_the_other_outcome_is_not_global(name: str, layout: str) -> None:
    found = plan(CHANGES[name], layout)
    assert layouts(found) != GLOBAL
    before, after = both("program", CHANGES[name], found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_setting_of_an_object_is_taken_to_stay_and_that_is_told() -> None:
    text = trainer("self.use_pmap", "self.args.use_pmap", trainer("self.use_pmap = use_pmap", "self.args = args"))
    text = trainer("use_pmap: bool", "args", text)
    text = trainer(
        "        if self.args.use_pmap:\n            self.params",
        "        if args.use_pmap:\n            self.params",
        text,
    )
    above = "class Args:\n    use_pmap = True\n\n\n"
    files = program(above + text, RUN.replace("Trainer(True)", "Trainer(Args())"))
    assert layouts(plan(files, "auto")) != GLOBAL
    found = plan(files)
    assert layouts(found) == GLOBAL
    told = {one.says for site in found.sites for one in site.assumed}
    assert "`self.args.use_pmap` does not change while the program runs" in told
    before, after = both("program", files, found)
    assert before["result"] == after["result"]


EXPERIMENT = """\
import jax
import jax.numpy as jnp
from flax.training.common_utils import shard
from jaxline import experiment, utils


class Experiment(experiment.AbstractExperiment):
    NON_BROADCAST_CHECKPOINT_ATTRS = {"_params": "params"}

    def __init__(self, mode, init_rng):
        super().__init__(mode=mode, init_rng=init_rng)
        self._use_pmap = jax.device_count() > 1
        self._params = None
        if self._use_pmap:
            self._update = jax.pmap(self._step, axis_name="i")
        else:
            self._update = jax.jit(self._step)

    def _step(self, params, batch):
        return params - 0.125 * jax.lax.pmean(batch.mean(0), "i")

    def step(self, *, global_step, rng, writer):
        if self._params is None:
            params = jnp.arange(3.0)
            self._params = utils.bcast_local_devices(params) if self._use_pmap else params
        batch = jnp.ones((16, 3))
        self._params = self._update(self._params, shard(batch) if self._use_pmap else batch)
        return {}
"""


@pytest.mark.parametrize("layout", ["auto", "likely"])
def test_what_a_library_saves_with_its_device_axis_is_not_global(layout: str) -> None:
    assert layouts(plan({"main.py": EXPERIMENT}, layout))[0][0] == "stacked"
