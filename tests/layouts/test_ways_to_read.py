"""Ways in which people read what a step gives on every device: each takes one slice of equal ones."""

from __future__ import annotations

import pytest

from tests.layouts.running import Program, run
from tests.layouts.test_presumed import plan

MAIN = """\
import operator

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, batch):
    seen = {"loss": batch.sum(), "largest": batch.max() * w[0]}
    return w - 0.1 * jax.lax.pmean(batch.mean() * w, "d"), GIVEN


p_step = jax.pmap(step, axis_name="d")
w = jax_utils.replicate(jnp.ones(3))
found = []
for x in np.arange(32.0).reshape(2, 16):
    w, metrics = p_step(w, shard(x))
    READ
RESULT = [np.asarray(w[0]).tolist(), found]
"""
KNOWN = 'jax.lax.pmean(seen, "d")'
UNKNOWN = 'jax.lax.pmean(compute(seen), "d")'
READS = {
    "entries of a comprehension": "found.append({k: float(v[0]) for k, v in metrics.items()})",
    "entries of a loop": "for name, value in metrics.items():\n        found.append((name, float(value[0])))",
    "values": "found.append([float(v[0]) for v in metrics.values()])",
    "itemgetter": "found.append(float(jax.tree.map(operator.itemgetter(0), metrics)['loss']))",
}


def program(read: str, given: str = KNOWN) -> dict[str, str]:
    text = MAIN.replace("GIVEN", given).replace("READ", READS[read])
    return {
        "main.py": text if given == KNOWN else f"from other import compute\n{text}".replace("float(", "np.asarray(")
    }


@pytest.mark.parametrize("read", list(READS))
def test_what_is_read_is_global_by_proof(read: str) -> None:
    (site,) = plan(program(read), "auto").sites
    assert [str(one.layout) for one in site.outputs] == ["replicated", "replicated"]


@pytest.mark.parametrize("read", ["entries of a comprehension", "entries of a loop", "values"])
def test_entries_of_what_is_not_known_are_presumed_arrays(read: str) -> None:
    files = program(read, UNKNOWN)
    assert str(plan(files, "auto").sites[0].outputs[1].layout) == "stacked"
    (site,) = plan(files, "likely").sites
    assert str(site.outputs[1].layout) == "replicated"
    assert any("takes the first device's slice of one array" in one.says for one in site.assumed)


def test_the_numbers_are_the_same() -> None:
    before = [Program(f"before {read}", program(read)) for read in READS]
    after = [Program(f"after {r}", {f.path: f.after for f in plan(program(r), "auto").files}) for r in READS]
    found = run([*before, *after])
    for read in READS:
        one, other = found[f"before {read}"], found[f"after {read}"]
        assert (one["error"], other["error"]) == ("", "")
        assert one["result"] == other["result"]


def test_another_item_is_no_slice_of_the_first_device() -> None:
    files = {"main.py": program("itemgetter")["main.py"].replace("itemgetter(0)", "itemgetter(1)")}
    assert str(plan(files, "auto").sites[0].outputs[1].layout) == "stacked"


def test_entries_that_are_lists_are_not_indexed_along_the_devices() -> None:
    text = program("values")["main.py"].replace('"loss": batch.sum()', '"loss": [batch.sum()]')
    text = text.replace("float(", "np.asarray(")
    assert str(plan({"main.py": text}, "auto").sites[0].outputs[1].layout) == "stacked"


SUMMED = (
    MAIN.replace("GIVEN", KNOWN)
    .replace("READ", 'total = total + metrics["loss"]')
    .replace("found = []", "found, total = [], 0.0")
    .replace("RESULT = [", "RESULT = [np.asarray(total[0]).tolist(), ")
)


def test_a_number_that_arrays_are_added_to_may_be_one_of_them() -> None:
    (site,) = plan({"main.py": SUMMED}, "likely").sites
    assert [str(one.layout) for one in site.outputs] == ["replicated", "replicated"]
    assert str(plan({"main.py": SUMMED}, "auto").sites[0].outputs[1].layout) == "stacked"


def test_what_is_no_number_there_keeps_them_stacked() -> None:
    text = SUMMED.replace("found, total = [], 0.0", "found, total = [], jnp.zeros(8)")
    assert str(plan({"main.py": text}, "likely").sites[0].outputs[1].layout) == "stacked"


TOGETHER = (
    MAIN.replace("GIVEN", KNOWN)
    .replace("READ", "steps.append(metrics)")
    .replace(
        "found = []",
        "found, steps = [], []\n\n\ndef first(*each):\n    return np.asarray([one[0] for one in each])\n\n",
    )
    .replace("RESULT = [", "together = MADE\nRESULT = [{k: v.tolist() for k, v in together.items()}, ")
)
MADE = {
    "a lambda": "jax.tree.map(lambda *xs: np.asarray([x[0] for x in xs]), *steps)",
    "a function": "jax.tree_util.tree_map(first, *steps)",
}


@pytest.mark.parametrize("made", list(MADE))
def test_a_leaf_of_each_tree_of_a_list_is_read(made: str) -> None:
    files = {"main.py": TOGETHER.replace("MADE", MADE[made])}
    found = plan(files, "auto")
    assert [str(one.layout) for one in found.sites[0].outputs] == ["replicated", "replicated"]
    before, after = (
        run([Program(name, one)])[name]
        for name, one in (("before", files), ("after", {f.path: f.after for f in found.files}))
    )
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "made",
    [
        "jax.tree.map(lambda *xs: np.asarray(xs), *steps)",
        "jax.tree.map(lambda *xs: np.asarray([x[1] for x in xs]), *steps)",
        "jax.tree.map(lambda *xs: np.asarray([x[0] for x in xs]), *steps, {k: np.ones(2) for k in steps[0]})",
    ],
)
def test_leaves_that_are_read_whole_keep_their_axis(made: str) -> None:
    (site,) = plan({"main.py": TOGETHER.replace("MADE", made)}, "likely").sites
    assert str(site.outputs[1].layout) == "stacked"
