"""What likely takes for granted of training states that a step gives back, and of attributes that hold them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Plan
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.running import Program, run

STEP = """\
import jax
import jax.numpy as jnp
import numpy as np
import stored
from flax import jax_utils
from flax.training.common_utils import shard

X = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def grad_of(params, x):
    return jax.grad(lambda p: jnp.mean((x @ p["w"] - 1) ** 2))(params)


def step(params, x):
    grads = jax.lax.pmean(grad_of(params, x), stored.AXES["data"])
    loss = jax.lax.pmean(jnp.mean(x), "d")
    return {"w": params["w"] - 0.125 * grads["w"] + 0 * loss}


p_step = jax.pmap(step, axis_name="d")
"""
LOOP = """\
params = jax_utils.replicate({"w": jnp.ones(3)})
for _ in range(3):
    params = p_step(params, shard(X))
RESULT = np.asarray(jax_utils.unreplicate(params)["w"]).tolist()
"""
STORED = 'AXES = dict(data="d")\n'
TRAINER = """

class Trainer:
    def __init__(self):
        self.saved = []
        self.state = {"w": jnp.ones(3)}

    def save(self):
        self.saved.append(np.asarray(self.state["w"]).shape)

    def train(self):
        self.state = jax_utils.replicate(self.state)
        for _ in range(3):
            self.state = p_step(self.state, shard(X))
            self.state = jax_utils.unreplicate(self.state)
            self.save()
            self.state = jax_utils.replicate(self.state)
        return jax_utils.unreplicate(self.state)["w"]


trainer = Trainer()
RESULT = [np.asarray(trainer.train()).tolist(), trainer.saved]
"""
KEEPS = "`step` keeps its state the same on every device"


def plan(files: dict[str, str], layout: str = "likely") -> Plan:
    """The plan for some files of a project."""
    found, errors = plan_sources([(n, Path("/project") / n, t) for n, t in files.items()], PlanOptions(layout))
    assert not errors
    return found


def says(found: Plan) -> list[str]:
    """What the rewrite leans on, without the places."""
    return [one.says for site in found.sites for one in site.assumed]


def layouts(found: Plan) -> list[str]:
    """The layouts of the arguments and outputs of the step."""
    return [one.layout for one in (*found.sites[0].arguments, *found.sites[0].outputs)]


def both(files: dict[str, str], after: Plan) -> tuple[dict[str, object], dict[str, object]]:
    """What a program gives before and after."""
    rewritten = {**files, **{file.path: file.after for file in after.files}}
    out = run([Program("before", files), Program("after", rewritten, one_value=True)])
    return out["before"], out["after"]


def test_a_state_that_a_reducing_step_gives_back_is_taken_to_stay_equal() -> None:
    files = {"main.py": STEP + LOOP, "stored.py": STORED}
    assert layouts(plan(files, "auto")) == ["stacked", "split", "stacked"]
    found = plan(files)
    assert layouts(found) == ["replicated", "split", "replicated"]
    assert KEEPS in says(found)
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


GROUPED = ", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('jax.lax.pmean(grad_of(params, x), stored.AXES["data"])', "grad_of(params, x)"),
        ('jax.lax.pmean(jnp.mean(x), "d")', "jnp.mean(x)"),
        ("0 * loss}", '0 * loss + jax.lax.axis_index("d")}'),
        ('stored.AXES["data"])', f'"d"{GROUPED})'),
        ('stored.AXES["data"])', f'stored.AXES["data"]{GROUPED})'),
        ("0 * loss}", "hk.next_rng_key()[0] * loss}"),
    ],
    ids=["not reduced", "nothing is reduced", "differs", "in groups", "in groups over any axis", "drawn"],
)
def test_what_is_known_to_differ_is_not(old: str, new: str) -> None:
    assert old in STEP
    text = STEP.replace(old, new).replace("import stored", "import haiku as hk\nimport stored")
    haiku = "import jax\n\n\ndef next_rng_key():\n    return jax.random.PRNGKey(0)\n"
    files = {"main.py": text + LOOP.replace("unreplicate(params)", "unreplicate({'w': params['w'].sum(0)[None]})")}
    found = plan(files | {"stored.py": STORED})
    assert layouts(found)[0] == "stacked"
    before, after = both(files | {"stored.py": STORED, "haiku.py": haiku}, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_statistics_of_a_network_stay_each_devices_own() -> None:
    """They come out of the step in the state, and nothing in sight makes them equal."""
    text = (STEP + LOOP).replace("params", "model")
    assert layouts(plan({"main.py": text.replace('"w"', '"step"'), "stored.py": STORED}))[0] == "replicated"
    assert layouts(plan({"main.py": text, "stored.py": STORED}))[0] == "stacked"


def test_states_of_each_devices_own_are_not() -> None:
    text = STEP.replace("def step(params, x)", "def step(env_state, x)").replace(
        "    grads =", "    params = env_state\n    grads ="
    )
    text += LOOP.replace("params", "env_state")
    assert layouts(plan({"main.py": text, "stored.py": STORED}))[0] == "stacked"


def test_a_state_that_differs_after_all_differs_by_what_was_assumed() -> None:
    """The gradients are summed over an inner axis of the same step instead."""
    text = STEP.replace("    grads = ", "    inner = lambda x: ").replace("x), stored", "x[None]), stored")
    text = text.replace("    loss =", '    grads = jax.vmap(inner, axis_name="rows")(x)\n    loss =')
    text = text.replace('grads["w"] + 0 * loss', 'grads["w"][0] + 0.01 * loss').replace(
        "mean(x)", 'mean(x @ params["w"])'
    )
    files = {"main.py": text + LOOP, "stored.py": 'AXES = dict(data="rows")\n'}
    found = plan(files)
    assert layouts(plan(files, "auto"))[0] == "stacked"
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] != after["result"]
    assert KEEPS in says(found)


def test_an_attribute_that_is_replicated_in_place_holds_one_global_array() -> None:
    files = {"main.py": STEP.replace('stored.AXES["data"]', '"d"') + TRAINER, "stored.py": STORED}
    assert "replicated" not in layouts(plan(files, "auto"))
    found = plan(files)
    assert layouts(found) == ["replicated", "split", "replicated"]
    assert "`self.state` is given one copy, not one for each device" in says(found)
    assert "`self.state` holds one copy, not one for each device" in says(found)
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "            self.state = jax_utils.unreplicate",
            "            self.save()\n            self.state = jax_utils.unreplicate",
        ),
        ("        for _", "        hook = self.save\n        hook()\n        for _"),
        ('np.asarray(self.state["w"])', 'np.asarray(getattr(self, "sta" + "te")["w"])'),
        ("trainer.saved]", "trainer.saved, np.asarray(trainer.state['w']).shape]"),
        ("trainer = Trainer()", "trainer = Trainer()\ntrainer.save()"),
    ],
    ids=["in both phases", "by a hook", "by a computed name", "from outside", "called from outside"],
)
def test_what_may_read_it_in_either_phase_keeps_it_stacked(old: str, new: str) -> None:
    text = STEP.replace('stored.AXES["data"]', '"d"') + TRAINER
    assert old in text
    files = {"main.py": text.replace(old, new), "stored.py": STORED}
    found = plan(files)
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_module_that_is_imported_by_a_computed_name_is_taken_to_stay_apart() -> None:
    text = STEP.replace('stored.AXES["data"]', '"d"').replace("import stored\n", "import importlib\n")
    main = 'NAME = "con" + "fig"\n' + text + LOOP.replace("jnp.ones(3)", "jnp.ones(3) * config.SCALE")
    main = main.replace("params = jax_utils", "config = importlib.import_module(NAME)\nparams = jax_utils")
    files = {"main.py": main, "config.py": "SCALE = 2.0\n"}
    assert "replicated" not in layouts(plan(files, "auto"))
    found = plan(files)
    assert layouts(found) == ["replicated", "split", "replicated"]
    said = "the module that `importlib.import_module(NAME)` gives does not use the arrays of this program"
    assert said in says(found)
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
