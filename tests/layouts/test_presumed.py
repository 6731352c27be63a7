"""What likely presumes of batches and states that come from out of sight, and what that must not change."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Plan
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.running import Program, assert_followed, run

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np

import source


def step(params, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch["x"] @ p - batch["y"]) ** 2))(params)
    grads = jax.lax.pmean(grads, "d")
    return params - 0.1 * grads, jax.lax.pmean(loss, "d")


p_step = jax.pmap(step, axis_name="d")
params = source.MAKERS["params"]()
losses = []
for batch in source.MAKERS["batches"](3):
    params, loss = p_step(params, batch)
    losses.append(float(loss[0]))
RESULT = [losses, np.asarray(jax.tree.map(lambda x: x[0], params)).tolist()]
"""
SOURCE = """\
import jax
import numpy as np


def make_params():
    weights = np.arange(3, dtype=np.float32) / 7
    return np.stack([weights for _ in range(8)])


def make_batches(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield {"x": rng.normal(size=(8, 2, 3)).astype("f4"), "y": rng.normal(size=(8, 2)).astype("f4")}


MAKERS = {"params": make_params, "batches": make_batches}
"""
EXPERIMENT = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class Network:
    def init(self, key, inputs):
        return {"w": jax.random.normal(key, (inputs.shape[-1],))}, {"count": jnp.zeros(())}


NETWORKS = {"one": Network()}


def update(params, state, inputs):
    grads = jax.grad(lambda p: jnp.mean((inputs @ p["w"]) ** 2))(params)
    grads = jax.lax.pmean(grads, "i")
    new = jax.tree.map(lambda p, g: p - g, params, grads)
    return new, {"count": state["count"] + 1.0}


init_net = jax.pmap(NETWORKS["one"].init)
step = jax.pmap(update, axis_name="i")
keys = jax_utils.replicate(jax.random.PRNGKey(1))
inputs = np.arange(48, dtype=np.float32).reshape(8, 2, 3)
params, state = init_net(keys, inputs)
for i in range(2):
    inputs = np.full((8, 2, 3), i, np.float32)
    params, state = step(params, state, inputs)
RESULT = [np.asarray(jax_utils.unreplicate(params)["w"]).tolist(), float(jax_utils.unreplicate(state)["count"])]
"""


def plan(files: dict[str, str], layout: str = "likely") -> Plan:
    """The plan for some files of a project."""
    found, errors = plan_sources([(n, Path("/project") / n, t) for n, t in files.items()], PlanOptions(layout))
    assert not errors
    assert_followed(found)
    return found


def layouts(found: Plan, site: int = 0) -> tuple[list[str], list[str]]:
    """The layouts of a site's arguments and outputs."""
    one = found.sites[site]
    return [a.layout for a in one.arguments], [a.layout for a in one.outputs]


def both(name: str, files: dict[str, str], after: Plan) -> tuple[dict[str, object], dict[str, object]]:
    """What a program gives before and after."""
    rewritten = {file.path: file.after for file in after.files}
    out = run([Program(name, files), Program(f"rewritten {name}", rewritten)])
    return out[name], out[f"rewritten {name}"]


def test_a_batch_and_a_state_from_out_of_sight_are_presumed_and_named() -> None:
    files = {"main.py": MAIN, "source.py": SOURCE}
    assert layouts(plan(files, "auto"))[0] == ["stacked", "stacked"]
    found = plan(files)
    assert layouts(found) == (["replicated", "split"], ["replicated", "replicated"])
    told = [one.says for site in found.sites for one in site.assumed]
    assert any("holds a batch split over all devices" in one for one in told)
    assert any("gives the same slice for every device" in one for one in told)
    before, after = both("presumed", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


NAMED = """\
import jax
import jax.numpy as jnp
import numpy as np

import source

p_step = jax.pmap(lambda FIRST, SECOND: jax.lax.pmean(jnp.mean(SECOND["x"] @ FIRST), "d"), axis_name="d")
FIRST = source.MAKERS["params"]()
RESULT = [np.asarray(p_step(FIRST, SECOND))[0].tolist() for SECOND in source.MAKERS["batches"](3)]
"""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("replicated_table", "x_sharded", ["replicated", "split"]),
        ("table_repl", "sharded_rows", ["replicated", "split"]),
        ("table", "rows", ["stacked", "stacked"]),
        ("params_shard", "batch", ["stacked", "split"]),  # which may be a part of the parameters on each device
        ("replicated_shards", "batch", ["stacked", "split"]),
    ],
)
def test_names_say_that_arrays_are_replicated_or_sharded(first: str, second: str, expected: list[str]) -> None:
    files = {"main.py": NAMED.replace("FIRST", first).replace("SECOND", second), "source.py": SOURCE}
    found = plan(files)
    assert layouts(found)[0] == expected
    assert layouts(plan(files, "auto"))[0] == ["stacked", "stacked"]
    before, after = both(f"named {first}", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


PUT = NAMED.replace('FIRST = source.MAKERS["params"]()', "MAKERS = source.MAKERS\nFIRST = PUT(source.MAKERS)").replace(
    "import source\n", 'import source\n\n\ndef PUT(makers):\n    return makers["params"]()\n'
)


@pytest.mark.parametrize(("put", "layout"), [("replicate_table", "replicated"), ("get_table", "stacked")])
def test_the_function_that_makes_an_array_says_what_becomes_of_it(put: str, layout: str) -> None:
    text = PUT.replace("FIRST", "table").replace("SECOND", "batch").replace("PUT", put)
    files = {"main.py": text, "source.py": SOURCE}
    found = plan(files)
    assert layouts(found)[0] == [layout, "split"]
    before, after = both(f"made by {put}", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


OF_FIELDS = """\
import typing

import jax
import jax.numpy as jnp
import numpy as np

import source


class State(typing.NamedTuple):
    params: typing.Any
    FIELD: typing.Any


def update(stateNOTE):
    noise = jax.random.normal(jax.random.PRNGKey(0)) if READS else 1.0
    return jax.lax.pmean((state.params * noise).sum(), "d")


def evaluate(stateNOTE):
    return np.asarray(jax.pmap(update, axis_name="d")(state))[0].tolist()


RESULT = [evaluate(state) for state in source.MAKERS["states"](State)]
"""
STATES = """

def make_states(cls):
    yield cls(make_params(), np.arange(8, dtype=np.float32).reshape(8, 1))


MAKERS["states"] = make_states
"""


@pytest.mark.parametrize(
    ("field", "note", "reads", "layout"),
    [
        ("buffer_state", ": State", "False", "stacked"),
        ("key", "", "state.key is None", "stacked"),
        ("opt_state", ": State", "state.opt_state is None", "replicated"),
        ("batch_stats", ": State", "False", "replicated"),
    ],
)
def test_a_state_with_a_key_or_buffer_of_each_device_is_not_presumed_equal(
    field: str, note: str, reads: str, layout: str
) -> None:
    text = OF_FIELDS.replace("FIELD", field).replace("NOTE", note).replace("READS", reads)
    found = plan({"main.py": text, "source.py": SOURCE + STATES})
    assert [one.layout for one in found.sites[0].arguments] == [layout]


def test_a_batch_without_a_second_axis_raises_rather_than_gives_another_number() -> None:
    source = SOURCE.replace('rng.normal(size=(8, 2)).astype("f4")', 'rng.normal(size=(8,)).astype("f4")')
    assert source != SOURCE
    files = {"main.py": MAIN, "source.py": source}
    before, after = both("one number a device", files, plan(files))
    assert before["error"] == ""
    assert "IndexError" in str(after["error"])


TWO = """\
norm = jax.pmap(lambda params, batch: jax.lax.pmean(jnp.sum(batch["x"] @ params), "d"), axis_name="d")
for batch in source.MAKERS["batches"](2):
    losses.append(float(norm(params, batch)[0]))
RESULT = losses
"""


def test_batches_from_out_of_sight_lose_their_device_axis_by_one_function() -> None:
    files = {"main.py": MAIN + TWO, "source.py": SOURCE}
    found = plan(files)
    text = found.files[0].after
    assert text.count('shard(flatten_devices(batch), P("d"))') == 2
    assert text.count("x.shape[1]") == 1


@pytest.mark.long
def test_what_one_function_joins_gives_the_same_empty_too_and_raises_where_rows_are_fewer() -> None:
    files = {"main.py": MAIN + TWO, "source.py": SOURCE}
    text = plan(files).files[0].after
    fewer = {"main.py": text, "source.py": SOURCE.replace("(8, 2, 3)", "(4, 2, 3)").replace("(8, 2))", "(4, 2))")}
    empty = {"main.py": MAIN + TWO, "source.py": SOURCE.replace("(8, 2, 3)", "(8, 0, 3)").replace("(8, 2))", "(8, 0))")}
    programs = [Program("two", files), Program("empty", empty), Program("fewer", fewer)]
    programs += [Program(f"{one.name} after", {**one.files, "main.py": text}) for one in programs[:2]]
    out = run(programs)
    assert out["two"]["result"] == out["two after"]["result"] != ""
    assert repr(out["empty"]["result"]) == repr(out["empty after"]["result"])
    assert "cannot reshape" in str(out["fewer"]["error"])


ALONE = {  # how a batch reaches a map, and whether a statement before it can lay it out
    "for batch in batches:\n    params, loss = p_step(params, batch)": True,
    "while len(losses) < 3:\n    batch = next(batches)\n    params, loss = p_step(params, batch)\n"
    "    losses.append(loss)": True,
    "while len(losses) < 3:\n    batch = next(batches)\n    with jax.profiler.TraceAnnotation('step'):\n"
    "        params, loss = p_step(params, batch)\n    losses.append(loss)": True,
    "for batch in batches:\n    if len(losses) < 3:\n        params, loss = p_step(params, batch)": True,
    "batch = next(batches)\nfor i in range(3):\n    if i == 1:\n        batch = next(batches)\n"
    "    params, loss = p_step(params, batch)": False,
    "while True:\n    batch = next(batches, None)\n    if batch is None:\n        break\n"
    "    params, loss = p_step(params, batch)": False,
    "batch = next(batches)\nparams, loss = p_step(params, batch)": True,
    "batch = next(batches)\nfor _ in range(3):\n    params, loss = p_step(params, batch)": False,
    "for batch in batches:\n    params, loss = p_step(params, batch)\n    losses.append(len(batch))": False,
    "for batch in batches:\n    size = lambda: len(batch)\n    params, loss = p_step(params, batch)\n"
    "    losses.append(size())": False,
    "for batch in batches:\n    params, loss = p_step(params, batch) if losses else p_step(params, batch)": False,
    "for batch in batches:\n    for _ in range(2):\n        params, loss = p_step(params, batch)": False,
}


@pytest.mark.parametrize("use", ALONE)
def test_a_batch_that_nothing_else_reads_is_laid_out_by_a_statement_of_its_own(use: str) -> None:
    body = "params = source.MAKERS['params']()\nlosses = []\n" + use + "\nreturn params, losses"
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    main = MAIN[: MAIN.index("params = source")] + f"def main(batches):\n{lines}\nmain(source.MAKERS['batches'](3))\n"
    found = plan({"main.py": main, "source.py": SOURCE})
    text = found.files[0].after
    assert layouts(found)[0][1] == "split"
    assert ("batch = shard(" in text) is ALONE[use]
    assert ("loss = p_step(params, batch)\n" in text) is ALONE[use]


@pytest.mark.parametrize(
    ("other", "is_alone"),
    [
        ("import source", True),
        ("import main\n\nprint(main.batch)", False),
        ("from main import *\n\nprint(batch)", False),
        ("print('a batch from main')", True),
    ],
)
def test_a_batch_of_a_script_is_laid_out_so_where_no_other_file_can_read_it(other: str, is_alone: bool) -> None:
    main = MAIN[: MAIN.index("params = source")] + (
        "params = source.MAKERS['params']()\nbatches = source.MAKERS['batches'](3)\n"
        "for batch in batches:\n    params, loss = p_step(params, batch)\n    print(loss)\n"
    )
    found = plan({"main.py": main, "source.py": SOURCE, "other.py": other + "\n"})
    text = next(file.after for file in found.files if file.path == "main.py")
    assert ("loss = p_step(params, batch)\n" in text and "batch = shard(" in text) is is_alone


FEWER = """\
import jax
import jax.numpy as jnp
import numpy as np

import source


def step(params, batch):
    total = jax.lax.psum(jnp.sum(batch["x"] @ params), "d")
    return params + total, total


p_step = jax.pmap(step, axis_name="d")
params = source.MAKERS["params"]()
for batch in source.MAKERS["batches"](2):
    params, total = p_step(params, batch)
RESULT = np.asarray(total[0]).tolist()
"""
OF_STATE = """\
import jax
import numpy as np

import source

count = jax.pmap(lambda params: jax.lax.psum(params, "d"), axis_name="d")
RESULT = np.asarray(count(source.MAKERS["params"]())[0]).tolist()
"""
OF_BATCH = """\
import jax
import jax.numpy as jnp
import numpy as np

import source

norm = jax.pmap(lambda batch: jax.lax.psum(1 + jnp.max(batch["x"]), "d"), axis_name="d")
RESULT = [float(norm(batch)[0]) for batch in source.MAKERS["batches"](2)]
"""


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("main", [FEWER, OF_STATE, OF_BATCH], ids=["both", "state", "batch"])
def test_fewer_rows_than_devices_raise_rather_than_give_another_number(main: str, rows: int) -> None:
    source = SOURCE.replace("range(8)", f"range({rows})").replace("size=(8, 2", f"size=({rows}, {16 // rows}")
    files = {"main.py": main, "source.py": source}
    found = plan(files)
    assert set(layouts(found)[0]) <= {"replicated", "split"}
    before, after = both("fewer", files, found)
    assert before["error"] == ""
    assert "reshape" in str(after["error"])


@pytest.mark.parametrize("main", [FEWER, OF_STATE, OF_BATCH], ids=["both", "state", "batch"])
def test_a_row_for_each_device_gives_the_same(main: str) -> None:
    files = {"main.py": main, "source.py": SOURCE}
    before, after = both("as many", files, plan(files))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_states_that_differ_show_only_in_what_the_assumption_names() -> None:
    source = SOURCE.replace("np.stack([weights for _ in range(8)])", "np.stack([weights + i for i in range(8)])")
    files = {"main.py": MAIN, "source.py": source}
    found = plan(files)
    before, after = both("unlike", files, found)
    assert before["result"] != after["result"]
    told = [one.says for site in found.sites for one in site.assumed]
    assert any("gives the same slice for every device" in one for one in told)


IN_PARTS = MAIN.replace('batch["x"]', "batch[0]").replace('batch["y"]', "batch[1]")
PARTS = {
    "tuple": ("pass", '(batch["x"], batch["y"])'),
    "list": ("pass", '[batch["x"], batch["y"]]'),
    "named": ('x, y = batch["x"], batch["y"]; batch = (x, y)', "batch"),
    "named list": ('batch = [batch["x"], batch["y"]]', "batch"),
    "made anew": ("pass", '(jnp.asarray(batch["x"]), np.asarray(batch["y"]))'),
    "filled": ('held = []; held.append(batch["x"]); held.append(batch["y"])', "held"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_batch_may_be_a_tuple_or_list_of_parts(name: str) -> None:
    above, given = PARTS[name]
    main = IN_PARTS.replace(
        "    params, loss = p_step(params, batch)", f"    {above}\n    params, loss = p_step(params, {given})"
    )
    files = {"main.py": main, "source.py": SOURCE}
    found = plan(files)
    assert layouts(found) == (["replicated", "split"], ["replicated", "replicated"])
    before, after = both("parts", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "given",
    [
        '(keys, batch["y"])',
        '(batch["x"], jnp.arange(8.0))',
        '(jnp.stack([batch["x"][0]] * 8), batch["y"])',
        '[*(batch[name] for name in ("x", "y"))]',
        '(batch["x"], params[:, None])',
    ],
)
def test_a_tuple_with_another_part_gives_the_same_or_raises(given: str) -> None:
    main = IN_PARTS.replace("p_step(params, batch)", f"p_step(params, {given})")
    main = main.replace("losses = []", "losses, keys = [], jax.random.normal(jax.random.key(0), (8, 2, 3))")
    main = main.replace("batch[1]) ** 2", "batch[1].mean()) ** 2").replace(
        "batch[0] @ p", "batch[0].reshape(-1, 3) @ p"
    )
    files = {"main.py": main, "source.py": SOURCE}
    found = plan(files)
    before, after = both("parts", files, found)
    assert before["error"] == ""
    assert after["error"] or before["result"] == after["result"]


def test_keys_are_no_batch_and_no_state() -> None:
    main = MAIN.replace("step(params, batch)", "step(keys, rng)")
    main = main.replace("batch[", "rng[").replace("(params)\n    grads", "(keys)\n    grads")
    main = main.replace("return params - 0.1", "return keys - 0.1").replace("for batch in", "for rng in")
    main = main.replace("p_step(params, batch)", "p_step(params, rng)").replace("params", "keys")
    main = main.replace('MAKERS["keys"]', 'MAKERS["params"]')
    assert layouts(plan({"main.py": main, "source.py": SOURCE}))[0] == ["stacked", "stacked"]


def test_what_init_unpacks_into_is_equal_for_equal_keys() -> None:
    found = plan({"main.py": EXPERIMENT})
    step = found.sites[1]
    assert layouts(found, 0) == (["replicated", "split"], ["replicated", "replicated"])
    assert [a.layout for a in step.arguments] == ["replicated", "replicated", "split"]
    before, after = both("initialized", {"main.py": EXPERIMENT}, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_what_a_librarys_init_gives_is_equal_by_a_named_assumption() -> None:
    text = EXPERIMENT.replace('NETWORKS["one"].init', "netlib.model.init").replace(
        "import jax\n", "import jax\nimport netlib\n", 1
    )
    assert layouts(plan({"main.py": text}, "auto"), 0)[1] == ["stacked"]
    found = plan({"main.py": text})
    assert layouts(found, 0) == (["replicated", "split"], ["replicated", "replicated"])
    says = [one.says for one in found.sites[0].assumed]
    assert "`netlib.model.init` gives the same on every device" in says


def test_a_librarys_function_of_what_differs_is_not_taken_for_equal() -> None:
    text = EXPERIMENT.replace('NETWORKS["one"].init', "netlib.model.apply").replace(
        "import jax\n", "import jax\nimport netlib\n", 1
    )
    assert set(layouts(plan({"main.py": text}), 0)[1]) == {"stacked"}


@pytest.mark.parametrize("made", ["arange(n)", "array([1.0])", "asarray((1, -2))"])
def test_one_number_a_device_is_no_batch(made: str) -> None:
    text = (
        f"import jax\nimport jax.numpy as jnp\n\nn = jax.local_device_count()\nx = jnp.{made}\n"
        'print(jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")(x))\n'
    )
    assert layouts(plan({"main.py": text}))[0] == ["stacked"]


LOGGED = """import jax
import jax.numpy as jnp
import metriclib
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
LOG = []


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    made = metriclib.summary(jax.lax.pmean(loss, "batch"))
    return w - 0.125 * jax.lax.pmean(grad, "batch"), made


p_step = jax.pmap(step, axis_name="batch")


def log(made):
    LOG.append(made[0])


def main():
    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(3):
        w, made = p_step(w, shard(BATCH))
        LOG.append(made[0])
    return jax_utils.unreplicate(w), np.asarray(LOG)


RESULT = main()
"""
NUMBER = "def summary(loss):\n    return loss * 2\n"
PAIR = "def summary(loss):\n    return loss * 2, loss\n"


def test_a_part_of_a_result_that_is_indexed_with_0_is_presumed_to_be_one_array() -> None:
    assert layouts(plan({"main.py": LOGGED}, "auto"))[1] == ["replicated", "stacked"]
    found = plan({"main.py": LOGGED})
    assert layouts(found)[1] == ["replicated", "replicated"]
    says = [one.says for one in found.sites[0].assumed]
    assert "`made[0]` takes the first device's slice of one array" in says
    before, after = _with_library(NUMBER, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_result_that_is_a_tuple_after_all_differs_by_what_was_assumed() -> None:
    before, after = _with_library(PAIR, plan({"main.py": LOGGED}))
    assert before["result"] != after["result"]


def _with_library(text: str, found: Plan) -> tuple[dict[str, object], dict[str, object]]:
    """What the program gives before and after, where a library that fix has not seen is this."""
    after = {"metriclib.py": text, **{file.path: file.after for file in found.files}}
    out = run([Program("logged", {"main.py": LOGGED, "metriclib.py": text}), Program("after", after)])
    return out["logged"], out["after"]


@pytest.mark.parametrize(
    ("unpacked", "read"),
    [
        ("w, made", "log(made)"),
        ("w, made", "LOG.append(made[1])"),
        ("w, made", "LOG.append(made[-1])"),
        ("w, made", "LOG.extend(one[0] for one in [made])"),
        ("w, made", "made = made if made else LOG; LOG.append(made[0])"),
        ("w, *made", "LOG.append(made[0][0])"),
        ("both", "LOG.append(both[0]); w = both[0]"),
        ("both", "w, made = both; LOG.append(made[:1][0])"),
        ("both", "w = both[0]; made = both[1:]; LOG.append(made[0][0])"),
    ],
)
def test_what_may_as_well_be_a_tuple_is_not_presumed_to_be_one_array(unpacked: str, read: str) -> None:
    text = LOGGED.replace("w, made = p_step", f"{unpacked} = p_step").replace(
        "LOG.append(made[0])\n    return", f"{read}\n    return"
    )
    found = plan({"main.py": text})
    assert not any("of one array" in one.says for one in found.sites[0].assumed)


HELD = """import jax
import jax.numpy as jnp
import numpy as np
import trainlib
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


class Trainer(trainlib.Module):
    def __init__(self):
        super().__init__()
        self.w = jax_utils.replicate(jnp.ones(3))
        self.p_step = jax.pmap(step, axis_name="batch")

    def run(self):
        for _ in range(3):
            self.w = self.p_step(self.w, shard(BATCH))
        return jax_utils.unreplicate(self.w)


RESULT = np.asarray(Trainer().run())
"""


def test_a_librarys_base_is_presumed_not_to_look_at_attributes() -> None:
    assert set(layouts(plan({"main.py": HELD}, "auto"))[0]) == {"stacked"}
    found = plan({"main.py": HELD})
    assert layouts(found) == (["replicated", "split"], ["replicated"])
    says = [one.says for one in found.sites[0].assumed]
    assert "the base class `trainlib.Module` does not read the attributes of `Trainer` objects" in says
    empty = (
        "class Net(trainlib.Module):\n    width: int = 8\n    def __init__(self, width):\n        self.width = width\n"
    )
    beside = plan({"main.py": HELD.replace("class Trainer", f"{empty}\n\nclass Trainer")})
    assert [one.says for one in beside.sites[0].assumed] == says  # there is nothing to read
    library = {"trainlib.py": "class Module:\n    pass\n"}
    out = run(
        [
            Program("held", {"main.py": HELD, **library}),
            Program("after", {**{file.path: file.after for file in found.files}, **library}),
        ]
    )
    assert not out["after"]["error"]
    assert out["after"]["result"] == out["held"]["result"]


def test_a_base_that_a_function_gives_is_not_presumed_to_leave_attributes_alone() -> None:
    text = HELD.replace("class Trainer(trainlib.Module)", "class Trainer(trainlib.base())")
    assert set(layouts(plan({"main.py": text}))[0]) == {"stacked"}


def test_statistics_of_a_batch_are_no_batch() -> None:
    text = (
        "import jax\nimport stats\n\nstate = stats.load()\n"
        'mean = jax.pmap(lambda x: jax.lax.pmean(x, "i"), "i")\n'
        "state = state.replace(batch_stats=mean(state.batch_stats))\n"
    )
    assert layouts(plan({"main.py": text}))[0] == ["stacked"]


CARRY = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct

import models

INPUTS = np.arange(8 * 2 * 4 * 3, dtype=np.float32).reshape(8, 2, 4, 3) / 9


@struct.dataclass
class State:
    params: object
    model_state: object


def get_step(loss_fn):
    def step(carry, batch):
        rng, state = carry
        rng, drop = jax.random.split(rng)
        grads, model_state = jax.grad(loss_fn, has_aux=True)(state.params, state.model_state, drop, batch)
        grads = jax.lax.pmean(grads, "batch")
        params = jax.tree.map(lambda p, g: p - 0.125 * g, state.params, grads)
        return (rng, state.replace(params=params, model_state=model_state)), jax.lax.pmean(jnp.sum(batch), "batch")

    return step


def main():
    model = models.get()
    variables = dict(model.init(jax.random.PRNGKey(0), INPUTS[0, 0], jax.random.PRNGKey(1)))
    pstate = jax_utils.replicate(State(variables.pop("params"), variables))
    p_step = jax.pmap(functools.partial(jax.lax.scan, get_step(models.LOSSES["squares"](model))), axis_name="batch")
    keys = jax.random.split(jax.random.PRNGKey(2), 8)
    for _ in range(2):
        (keys, pstate), sums = p_step((keys, pstate), INPUTS)
    return jax_utils.unreplicate(pstate.params), jax_utils.unreplicate(sums)


RESULT = [np.asarray(x).tolist() for x in jax.tree.leaves(main())]
"""
MODELS = """import flax.linen as nn
import jax
import jax.numpy as jnp

LOSSES = {}


def register(fun):
    LOSSES[fun.__name__] = fun
    return fun


@register
def squares(model):
    def loss(params, kept, rng, batch):
        out, kept = model.apply({"params": params, **kept}, batch, rng, mutable=list(kept))
        return jnp.mean(out**2), kept

    return loss


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, rng):
        x = nn.Dense(2)(x)
        return x * jax.random.uniform(rng, x.shape)


def get():
    return Net()
"""
NORMALIZED = MODELS.replace("x = nn.Dense(2)(x)", "x = nn.BatchNorm(use_running_average=False)(nn.Dense(2)(x))")


def test_the_state_in_the_carry_of_a_scan_is_presumed_to_be_kept_equal() -> None:
    found = plan({"main.py": CARRY, "models.py": MODELS})
    assert layouts(found) == (["stacked", "replicated", "split"], ["stacked", "replicated", "replicated"])
    assert any("keeps its state the same on every device" in one.says for one in found.sites[0].assumed)
    before, after = both("carry", {"main.py": CARRY, "models.py": MODELS}, found)
    assert not after["error"]
    assert after["result"] == before["result"]


def test_a_network_that_keeps_statistics_keeps_its_state_per_device() -> None:
    assert "replicated" not in layouts(plan({"main.py": CARRY, "models.py": NORMALIZED}))[0]
    assert "replicated" not in layouts(plan({"main.py": CARRY}))[0]
    remembering = MODELS.replace("class Net", "def remember(hk, x):\n    hk.set_state('memory', x)\n\n\nclass Net")
    assert "replicated" not in layouts(plan({"main.py": CARRY, "models.py": remembering}))[0]


FROZEN = NORMALIZED.replace("average=False", "average=True").replace(
    'out, kept = model.apply({"params": params, **kept}, batch, rng, mutable=list(kept))',
    'out = model.apply({"params": params, **kept}, batch, rng)',
)


def test_statistics_of_another_program_of_the_project_do_not_count() -> None:
    other = "import models\n\n\ndef run(net, x):\n    return net.apply({}, x, mutable=['batch_stats'])\n"
    assert "replicated" in layouts(plan({"main.py": CARRY, "models.py": FROZEN, "bn.py": other}))[0]
    used = FROZEN.replace("import jax\n", "import jax\n\nimport bn\n", 1)
    assert "replicated" not in layouts(plan({"main.py": CARRY, "models.py": used, "bn.py": other}))[0]


def test_statistics_that_nothing_changes_are_no_reason_to_keep_a_state_per_device() -> None:
    files = {"main.py": CARRY, "models.py": FROZEN}
    found = plan(files)
    assert layouts(found) == (["stacked", "replicated", "split"], ["stacked", "replicated", "replicated"])
    before, after = both("frozen", files, found)
    assert not after["error"]
    assert after["result"] == before["result"]


CHAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def encode(w, images):
    return (images @ w){sizes}


p_encode = jax.pmap(encode)
p_decode = jax.pmap(lambda w, x: jnp.tanh(x) * w.sum())  # one number for each device, or a row
p_count = jax.pmap(lambda x, key: x.sum() + jax.random.uniform(key))
w = jax_utils.replicate(jnp.sin(jnp.arange(6.0)).reshape(3, 2))
keys = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
latents = p_encode(w, shard(np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)))
{more}
RESULT = np.asarray(p_decode(w, latents)).tolist(), np.asarray(p_count(latents, keys)).tolist()
"""


@pytest.mark.parametrize(
    ("sizes", "more", "layout"),
    [
        ("", "", "split"),
        ("", "latents = jnp.asarray(latents)", "split"),
        ("[:, 0]", "", "split"),
        (".sum()", "", "stacked"),
        ("", "total = np.sum(latents, 0)", "stacked"),
        ("", "total = latents[::-1]", "stacked"),
    ],
)
def test_what_maps_hand_on_under_the_name_of_a_batch_is_presumed_to_be_one(sizes: str, more: str, layout: str) -> None:
    files = {"main.py": CHAIN.format(sizes=sizes, more=more)}
    found = plan(files)
    assert [one.layout for one in found.sites[0].outputs] == [layout]
    assert found.sites[1].arguments[1].layout == layout
    before, after = both(f"handed on {sizes}{more}", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
    assert any("holds a batch" in one.says for site in found.sites for one in site.assumed) is (layout == "split")
    assert [one.layout for one in plan(files, "auto").sites[0].outputs] == ["stacked"]


PAIRS = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

p_evaluate = jax.pmap(lambda w, x: jax.lax.pmean(jnp.stack([x.mean(), x.std()]) * w, "d"), axis_name="d")
w = jax_utils.replicate(jnp.ones(2))
one = p_evaluate(w, shard(np.arange(16, dtype=np.float32)))
other = p_evaluate(w, shard(np.ones(16, np.float32)))
between = one - other
RESULT = between[0].tolist()
"""


def test_arrays_that_are_combined_are_presumed_to_have_as_many_dimensions() -> None:
    files = [("main.py", Path("/nowhere/main.py"), PAIRS)]
    proven, _ = plan_sources(files, PlanOptions("auto"))
    assert {one.layout for one in proven.sites[0].outputs} == {"stacked"}
    likely, _ = plan_sources(files, PlanOptions("likely"))
    assert {one.layout for one in likely.sites[0].outputs} == {"replicated"}
    assert [one.says for one in likely.sites[0].assumed] == ["the arrays in `one - other` have as many dimensions"]


COUNTED = """\
import jax
import jax.numpy as jnp
import metriclib
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x, skips):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")
    return w - 0.125 * grad, metriclib.summary(skips)


p_step = jax.pmap(step, axis_name="batch")


def main():
    w, skips = jax_utils.replicate(jnp.ones(3)), START
    for _ in range(3):
        w, skips = p_step(w, shard(BATCH), skips)
    return jax_utils.unreplicate(w), READ


RESULT = main()
"""


def counted(start: str = "None", read: str = "np.asarray(skips[0])") -> str:
    text = COUNTED.replace(
        "w, skips = jax_utils.replicate(jnp.ones(3)), START", "w = jax_utils.replicate(jnp.ones(3))\n    skips = START"
    )
    return text.replace("START", start).replace("READ", read)


@pytest.mark.parametrize("start", ["jnp.int32(0)", "0", "jnp.zeros(())"])
def test_a_part_of_a_result_that_was_one_array_before_a_loop_is_presumed_to_be_one(start: str) -> None:
    text = counted(f"jax_utils.replicate({start})")
    assert layouts(plan({"main.py": text}, "auto"))[1] == ["replicated", "stacked"]
    found = plan({"main.py": text})
    assert layouts(found)[1] == ["replicated", "replicated"]
    assert "`skips[0]` takes the first device's slice of one array" in [one.says for one in found.sites[0].assumed]


@pytest.mark.parametrize("start", ["jax_utils.replicate((jnp.zeros(()),))", "jax_utils.replicate(metriclib.start())"])
def test_what_may_be_a_tuple_before_a_loop_gets_its_device_axis_back_where_it_is_indexed(start: str) -> None:
    text = counted(start)
    assert layouts(plan({"main.py": text}, "auto"))[1] == ["replicated", "stacked"]
    found = plan({"main.py": text})
    assert layouts(found)[1] == ["replicated", "replicated"]
    assert "stack(skips)[0]" in found.files[0].after
    assert "what is read of `skips` does not change it" in [one.says for one in found.sites[0].assumed]


@pytest.mark.parametrize("name", ["label_smoothing", "batch_size", "noise_scale", "points_per_step"])
def test_a_name_that_ends_in_the_word_for_a_number_says_no_batch(name: str) -> None:
    main = OF_BATCH.replace(
        'lambda batch: jax.lax.psum(1 + jnp.max(batch["x"]), "d")', f'lambda {name}: jax.lax.psum({name}, "d")'
    )
    main = main.replace("norm(batch)", f"norm({name})").replace("for batch in", f"for {name} in")
    assert layouts(plan({"main.py": main, "source.py": SOURCE}))[0] == ["stacked"]
