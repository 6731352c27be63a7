"""Arrays of which host code makes one number: the largest, the mean, the sum of all elements."""

from __future__ import annotations

import pytest

from tests.layouts.test_carried import both, layouts, plan, says

STEP = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax

X = np.arange(48, dtype=np.float32).reshape(16, 3)
SEEN = []


def step(w, x):
    loss = lax.pmean(jnp.mean(x @ w), "d")
    return w - 0.125 * loss, {"loss": loss, "w": lax.pmean(w, "d")}, jnp.mean(x)


p_step = jax.pmap(step, axis_name="d")


def main():
    w = jax_utils.replicate(jnp.ones(3))
    for x in (X, X):
        x = shard(jnp.asarray(x))
        w, metrics, own = p_step(w, x)
        SEEN.append(USE)
    return w


main()
RESULT = [np.asarray(one).tolist() for one in SEEN]
"""


@pytest.mark.parametrize(
    "use",
    ["metrics['w'].max()", "jnp.min(metrics['loss'])", "np.any(metrics['w'])", "bool(jnp.all(metrics['w'] > 0))"],
)
def test_the_largest_of_all_slices_is_that_of_one(use: str) -> None:
    found = plan({"main.py": STEP.replace("USE", use)}, "auto")
    assert layouts(found)[2:] == ["replicated", "replicated", "stacked"]


@pytest.mark.parametrize("use", ["metrics['loss'].mean()", "float(jnp.mean(metrics['loss']))", "np.mean(metrics['w'])"])
def test_the_mean_of_all_slices_is_likely_that_of_one(use: str) -> None:
    files = {"main.py": STEP.replace("USE", use)}
    assert layouts(plan(files, "auto"))[3] == "stacked"
    found = plan(files)
    assert layouts(found)[3] == "replicated"
    assert [one for one in says(found) if one.endswith("is the same without the device axis, but for rounding")]


def test_each_leaf_of_metrics_is_averaged() -> None:
    files = {"main.py": STEP.replace("USE", "list(jax.tree.map(lambda x: x.mean(), metrics).values())[0]")}
    found = plan(files)
    assert layouts(found)[3] == "replicated"
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "use",
    [
        "metrics['loss'].sum()",
        "jnp.sum(metrics['w'])",
        "metrics['w'].sum(axis=0)",
        "metrics['w'].mean(axis=1)",
        "jnp.mean(metrics['w'], (0, 1))",
        "np.mean([metrics['w'], own], axis=0)",
        "metrics['w'].prod()",
        "jnp.mean(metrics['w'], keepdims=True)",
        "np.var(metrics['w'], ddof=1)",
        "jnp.average(metrics['w'], weights=metrics['w'])",
        "metrics['w'].argmax()",
        "jnp.median(metrics['w'])",
        "jnp.size(metrics['w'])",
        "np.mean(own)",
    ],
)
def test_what_copies_change_keeps_arrays_stacked(use: str) -> None:
    found = plan({"main.py": STEP.replace("USE", use)})
    assert layouts(found)[3 if "metrics" in use else 4] == "stacked"


@pytest.mark.parametrize(
    ("use", "written"),
    [
        ("metrics['w'].mean(axis=0)", "metrics['w'][None].mean(axis=0)"),
        ("jnp.mean(metrics['w'], 0)", "jnp.mean(metrics['w'][None], 0)"),
        ("np.mean(jax.device_get(loss), axis=0)", "np.mean(jax.device_get(loss))"),
        ("loss.mean(0)", "loss.mean()"),
    ],
)
def test_the_mean_over_the_devices_is_that_of_one(use: str, written: str) -> None:
    """The call stays: it makes a floating number of an integer."""
    text = STEP.replace('lax.pmean(w, "d")}', 'lax.pmean(w, "d")}, lax.pmax(x.max(), "d")').replace(
        ", own =", ", loss, own ="
    )
    files = {"main.py": text.replace("USE", use)}
    index = 3 if "metrics" in use else 4
    assert layouts(plan(files, "auto"))[index] == "stacked"
    found = plan(files)
    assert layouts(found)[index] == "replicated"
    assert f"SEEN.append({written})" in found.files[0].after
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_the_largest_over_the_devices_is_that_of_one_by_proof() -> None:
    files = {"main.py": STEP.replace("USE", "metrics['w'].max(0)")}
    assert layouts(plan(files, "auto"))[3] == "replicated"
    several = {"main.py": files["main.py"].replace("\nX =", "\njax.distributed.initialize()\nX =")}
    assert layouts(plan(several, "auto"))[3] == "stacked"


def test_rows_of_a_batch_are_no_devices() -> None:
    assert layouts(plan({"main.py": STEP.replace("USE", "x.max(0)")}))[1] == "stacked"


@pytest.mark.parametrize("other", ["np.ones((4, 3))", "[metrics['w'], metrics['w']]", "own"])
def test_a_reduction_of_something_else_as_well_keeps_its_text(other: str) -> None:
    helper = "\n\ndef largest(x):\n    return np.max(x, axis=0)\n\n\ndef main():"
    text = STEP.replace("USE", f"[largest(metrics['w']).tolist(), largest({other}).tolist()]").replace(
        "np.asarray(one).tolist()", "one"
    )
    files = {"main.py": text.replace("\n\ndef main():", helper)}
    assert layouts(plan(files))[3] == "stacked"


@pytest.mark.parametrize("use", ["jax.tree.map(np.mean, jax.device_get(metrics))", "jax.tree.map(jnp.max, metrics)"])
def test_each_leaf_is_reduced_by_a_function_of_a_library(use: str) -> None:
    files = {"main.py": STEP.replace("USE", f"list({use}.values())")}
    assert layouts(plan(files))[3] == "replicated"
    assert (
        layouts(plan({"main.py": files["main.py"].replace("np.mean", "np.sum").replace("jnp.max", "jnp.sum")}))[3]
        == "stacked"
    )


def test_a_batch_has_the_same_elements_in_any_shape() -> None:
    files = {"main.py": STEP.replace("USE", "x.max()")}
    assert layouts(plan(files, "auto"))[1] == "split"
    assert layouts(plan({"main.py": STEP.replace("USE", "jnp.sum(x)")}))[1] == "split"
    several = files["main.py"].replace("\nX =", "\njax.distributed.initialize()\nX =")
    assert layouts(plan({"main.py": several}))[1] == "stacked"


def test_a_method_of_the_project_may_be_another() -> None:
    own = "\n\nclass Mean:\n    def mean(self):\n        return self.parts.shape[0]\n"
    files = {"main.py": STEP.replace("USE", "metrics['loss'].mean()") + own}
    assert layouts(plan(files))[3] == "stacked"


def test_one_of_several_processes_computes_with_no_global_array() -> None:
    """What runs on all their devices has to be run by each of them, and a test for the first may stand before it."""
    program = STEP.replace("\nX =", "\njax.distributed.initialize()\nX =")
    assert layouts(plan({"main.py": program.replace("USE", "metrics['w'].max()")}, "auto"))[3] == "stacked"
    assert layouts(plan({"main.py": program.replace("USE", "np.max(metrics['w'])")}, "auto"))[3] == "replicated"


LIST = """
def main():
    w = jax_utils.replicate(jnp.ones(3))
    losses, owns = [], []
    for x in (X, X):
        w, metrics, own = p_step(w, shard(x))
        losses.append(metrics["loss"])
        owns.append(own)
    SEEN.append(USE)
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("np.mean(losses)", "replicated"),
        ("np.max([one for one in losses])", "replicated"),
        ("jnp.mean(jnp.array(losses))", "replicated"),
        ("jnp.stack(losses).mean()", "replicated"),
        ("np.array(list(losses)).max()", "replicated"),
        ("jnp.stack(losses).mean(0)", "stacked"),
        ("np.array(losses)", "stacked"),
        ("jnp.stack([*losses, own]).mean()", "stacked"),
        ("np.sum(losses)", "stacked"),
        ("np.mean([*losses, 1.0])", "stacked"),
        ("np.mean(losses, axis=0)", "stacked"),
        ("np.mean(owns)", "replicated"),
    ],
)
def test_the_mean_of_a_list_is_that_of_all_its_arrays(use: str, expected: str) -> None:
    head, rest = STEP.split("\ndef main():")
    program = head + LIST.replace("USE", use) + "    return w" + rest.split("    return w")[1]
    found = plan({"main.py": program})
    assert layouts(found)[3:] == [expected, "stacked"]
    if expected == "replicated" and "own" not in use:
        before, after = both({"main.py": program}, found)
        assert (before["error"], after["error"]) == ("", "")
        assert before["result"] == after["result"]


LISTED = (
    STEP.replace("    for x in (X, X):", "    trace, owns = [], []\n    for x in (X, X + 1):")
    .replace(
        "        SEEN.append(USE)\n", "        trace.append(metrics)\n        owns.append(own)\n    SEEN.append(USE)\n"
    )
    .replace("\n\ndef main():", "HELPER\n\ndef main():")
)
TOP = "\n\ndef top(rows):\n    return np.max(np.concatenate(rows))\n"


@pytest.mark.parametrize(
    ("use", "layout", "written"),
    [
        ("np.max(np.concatenate([m['loss'] for m in trace]))", "auto", "np.max(np.stack([m['loss'] for m in trace]))"),
        ("np.max(np.concatenate([m['w'] for m in trace]))", "auto", "np.max(np.stack([m['w'] for m in trace]))"),
        ("np.concatenate([m['w'] for m in trace], axis=0).min()", "auto", "np.stack([m['w'] for m in trace]).min()"),
        ("jnp.mean(jnp.concatenate([m['loss'] for m in trace]))", "likely", "jnp.stack([m['loss'] for m in trace])"),
        ("top([m['w'] for m in trace])", "auto", "np.max(np.stack(rows))"),
    ],
)
def test_equal_slices_of_a_list_are_stacked(use: str, layout: str, written: str) -> None:
    files = {"main.py": LISTED.replace("USE", use).replace("HELPER", TOP)}
    found = plan(files, layout)
    assert layouts(found)[3] == "replicated"
    assert written in found.files[0].after
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "use",
    [
        "np.concatenate([m['w'] for m in trace])",
        "np.sum(np.concatenate([m['w'] for m in trace]))",
        "np.max(np.concatenate([m['w'] for m in trace]), axis=0)",
        "np.max(np.concatenate([m['w'] for m in trace], axis=1))",
        "np.max(np.concatenate([*[m['w'] for m in trace], np.ones((8, 3))]))",
        "(top([m['w'] for m in trace]), top([np.ones((4, 3))]))[0]",
        "(top([np.ones((4, 3))]), top([m['w'] for m in trace]))[1]",
    ],
)
def test_what_is_more_than_one_number_keeps_its_text(use: str) -> None:
    files = {"main.py": LISTED.replace("USE", use).replace("HELPER", TOP)}
    found = plan(files)
    assert layouts(found)[3] == "stacked"
    assert "np.stack" not in found.files[0].after


def test_rows_of_each_device_keep_their_text() -> None:
    files = {"main.py": LISTED.replace("USE", "np.max(np.concatenate(owns))").replace("HELPER", "")}
    found = plan(files)
    assert "np.max(np.concatenate(owns))" in found.files[0].after
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
