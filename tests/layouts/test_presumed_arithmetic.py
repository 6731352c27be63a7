"""Arithmetic of host code on what maps give and take: what is proven of it, and what likely presumes and tells."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

"""
SAMPLES = (
    HEAD
    + """\
HEADS = {"one": lambda w, x: jnp.tanh(x * w), "two": lambda w, x: (jnp.tanh(x * w), x)}


def sample(w, x):
    return HEADS[KIND](w, x)


p_sample = jax.pmap(sample)
w = jax_utils.replicate(jnp.sin(jnp.arange(3.0)))
images = p_sample(w, shard(np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)))
images = images / 2 + 0.5
images = jnp.clip(images, 0, 1)
images = (images * 255).round().astype("uint8")
RESULT = np.asarray(images).reshape((16, 3)).tolist()
"""
)
LABELS = (
    HEAD
    + """\
class Dataset:
    def __init__(self, columns):
        self.columns: int = COLUMNS


def step(w, x, cell):
    return jax.lax.psum(jnp.sum(jnp.take(w, cell) * x), "i")


p_step = jax.pmap(step, axis_name="i")


def main(dataset):
    devices, columns, told = jax.local_device_count(), dataset.columns, []
    w = jax_utils.replicate(jnp.sin(jnp.arange(64.0)))
    for i in range(2):
        row = jnp.array(np.arange(16) % 3 + i).reshape(devices, -1)
        column = jnp.array(np.arange(16) % 4).reshape(devices, -1)
        x = jnp.array(np.ones(16, np.float32)).reshape(devices, -1)
        cell = row * columns + column
        told.append(float(p_step(w, x, cell)[0]))
    return told


RESULT = main(Dataset(4))
"""
)
TOTALS = (
    HEAD
    + """\
X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x, total, seen):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), "i")
    return w - 0.1 * grad, total + jnp.linalg.norm(grad), seen + 1


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
total, seen = (jax_utils.replicate(one) for one in (jnp.float32(0), jnp.int32(0)))
told = []
for i in range(4):
    w, total, seen = p_step(w, shard(X + i), total, seen)
    if i % 2:
        held = total
        told.append([float(jax_utils.unreplicate(total)), int(seen[0])])
        total *= 0
        seen -= 1
        told.append([float(held[0]), float(total[0])])
RESULT = told
"""
)
LAST = (
    HEAD
    + """\
X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
p_step = jax.pmap(lambda w, x: (w * 2, jax.lax.pmean(jnp.sum(x * w), "i")), axis_name="i")


def main(loader):
    w = jax_utils.replicate(jnp.ones(3))
    loss = FIRST
    for i in OVER:
        BODY
    return GIVEN


RESULT = main([1, 2])
"""
)
ONE_PROCESS = "the program runs as one process"


def last(
    first: str = 'float("inf")',
    over: str = "range(3)",
    body: str = "w, loss = p_step(w, shard(X + i))",
    given: str = "float(jax_utils.unreplicate(loss))",
) -> dict[str, str]:
    text = LAST.replace("FIRST", first).replace("OVER", over).replace("BODY", body).replace("GIVEN", given)
    return {"main.py": text}


def told(found: object) -> set[str]:
    return {one.says for site in found.sites for one in site.assumed}  # type: ignore[attr-defined]


def test_samples_of_a_function_out_of_sight_are_scaled_as_one_array() -> None:
    files = {"main.py": SAMPLES.replace("KIND", '"one"')}
    assert layouts(plan(files, "auto")) == (["replicated", "split"], ["stacked"])
    found = plan(files)
    assert layouts(found) == (["replicated", "split"], ["split"])
    assert "`images` is one array, and no tuple or list of arrays" in told(found)
    before, after = both("samples", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_cells_of_rows_and_columns_are_a_batch_for_one_process() -> None:
    files = {"main.py": LABELS.replace("COLUMNS", "columns")}
    assert layouts(plan(files, "auto"))[0] == ["replicated", "split", "stacked"]
    found = plan(files)
    assert layouts(found)[0] == ["replicated", "split", "split"]
    assert {ONE_PROCESS, "`columns` is one number"} <= told(found)
    assert "process_index" not in found.files[0].after
    before, after = both("cells", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_an_array_that_is_annotated_as_a_number_is_refused_by_shape_or_named() -> None:
    files = {"main.py": LABELS.replace("COLUMNS", "jnp.full((8, 1), columns)")}
    found = plan(files)
    before, after = both("cells of an array", files, found)
    assert before["error"] == ""
    assert layouts(found)[0][2] == "stacked" or "`columns` is one number" in told(found)
    assert after["error"] or before["result"] == after["result"]


@pytest.mark.parametrize("asks", ["jax.process_index()", "jax.distributed.initialize"])
def test_a_program_that_asks_for_its_process_is_not_taken_for_one(asks: str) -> None:
    files = {"main.py": LABELS.replace("COLUMNS", "columns") + f"\nprint({asks})\n"}
    found = plan(files)
    assert layouts(found)[0] == ["replicated", "split", "stacked"]
    assert ONE_PROCESS not in told(found)


def test_nothing_is_presumed_of_processes_where_nothing_is_won() -> None:
    files = {"main.py": LABELS.replace("COLUMNS", "columns").replace("p_step(w, x, cell)", "p_step(w, x, shard(X))")}
    files["main.py"] = (
        files["main.py"]
        .replace("        cell = row * columns + column\n", "")
        .replace("def main", "X = np.arange(16)\n\n\ndef main")
    )
    found = plan(files)
    assert layouts(found)[0] == ["replicated", "split", "split"]
    assert ONE_PROCESS not in told(found)


def test_sums_that_are_set_back_in_place_are_new_arrays() -> None:
    files = {"main.py": TOTALS}
    found = plan(files, "auto")
    assert layouts(found) == (["replicated", "split", "replicated", "replicated"], ["replicated"] * 3)
    before, after = both("totals", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "files",
    [
        last(),
        last("None", "loader"),
        last("-1", "loader", given="float(loss[0])"),
        last("jnp.ones((8, 3))", "enumerate(range(1, 3))", "i = i[0]; w, loss = p_step(w, shard(X + i))"),
    ],
)
def test_what_a_loop_gives_a_name_that_held_no_array(files: dict[str, str]) -> None:
    assert layouts(plan(files, "auto"))[1] == ["replicated", "replicated"]


@pytest.mark.parametrize(
    "files",
    [
        last("jnp.ones((8, 3))", "loader"),
        last("jnp.ones((8, 3))", "range(len(loader))"),
        last("jnp.ones((8, 3))", "range(0)"),
        last("jnp.ones((8, 3))", body="if i > len(loader): break\n        w, loss = p_step(w, shard(X + i))"),
        last("None; loss = jnp.ones((8, 3))", "loader"),
    ],
)
def test_what_may_hold_an_array_of_before_the_loop(files: dict[str, str]) -> None:
    assert layouts(plan(files, "auto"))[1] == ["replicated", "stacked"]


MEANS = (
    HEAD
    + """\
X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
told = []
for i in range(3):
    w, loss = p_step(w, shard(X + i))
    told.append(float(jax_utils.unreplicate(USED)))
RESULT = told
"""
)


@pytest.mark.parametrize("used", ["jnp.exp(loss)", "loss / 3", "(loss + 1) ** 3", "jnp.log(loss) * 2"])
def test_what_may_be_rounded_by_the_shape_is_likely_not_to_be(used: str) -> None:
    files = {"main.py": MEANS.replace("USED", used)}
    assert layouts(plan(files, "auto"))[1] == ["replicated", "stacked"]
    found = plan(files)
    assert layouts(found)[1] == ["replicated", "replicated"]
    assert any("is rounded alike in any shape" in one for one in told(found))


@pytest.mark.parametrize("used", ["jnp.ceil(loss * 8)", "jnp.where(jnp.isnan(loss), 0, 1)[None]", "jnp.sign(-loss)"])
def test_what_is_exact_in_any_shape(used: str) -> None:
    files = {"main.py": MEANS.replace("USED", used)}
    exact = "where" not in used
    assert layouts(plan(files, "auto"))[1] == ["replicated", "replicated" if exact else "stacked"]


@pytest.mark.long
def test_what_is_rounded_runs_to_the_same_numbers_here() -> None:
    files = {"main.py": MEANS.replace("USED", "jnp.exp(loss / 3)")}
    before, after = both("means", files, plan(files))
    assert (before["error"], after["error"]) == ("", "")
    one, other = ([float(number) for _, number in run["result"][1:]] for run in (before, after))  # type: ignore[index]
    assert one == pytest.approx(other, rel=1e-6)


RUNNING = (
    HEAD
    + """\
X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
total, count = 0.0, 0
for i, x in enumerate([X, X + 1]):
    w, loss = p_step(w, shard(x))
    total += loss
    count += 1
LATER
RESULT = np.asarray(total / DIVISOR).ravel().tolist()[-1:]
"""
)


@pytest.mark.parametrize(
    ("later", "divisor"),
    [
        ("", "count"),
        ("", "(i + 1)"),
        ("", "max(count, 1)"),
        ("count = len(X) // 8", "count"),
        ("total, count = total * 2, count * X.shape[0]", "count"),
    ],
)
def test_a_running_sum_over_a_count(later: str, divisor: str) -> None:
    files = {
        "main.py": RUNNING.replace("LATER", later).replace(
            "total / DIVISOR", f"jax_utils.unreplicate(total / {divisor})"
        )
    }
    found = plan(files)
    assert layouts(found)[1] == ["replicated", "replicated"]
    before, after = both("running", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "later",
    [
        "count += np.arange(8)",
        "count = jnp.arange(8)[:, None]",
        "[count] = [np.arange(8)]",
        "for count in np.arange(8): pass",
        "def bump():\n    global count\n    count = np.arange(8) + 1\nbump()",
        "import sys\nsys.modules[__name__].count = np.arange(8)",
        "with open(__file__) as count: pass\ncount = np.arange(8)",
    ],
)
def test_a_count_that_may_be_an_array_is_no_number(later: str) -> None:
    files = {"main.py": RUNNING.replace("LATER", later).replace("DIVISOR", "count")}
    assert layouts(plan(files))[1][-1] == "stacked"


ALONG_LAST = (
    HEAD
    + """\
X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    logits = x * w
    return jax.lax.pmean(jnp.mean(logits), "i"), logits


p_step = jax.pmap(step, axis_name="i")


def main():
    w, told = jax_utils.replicate(jnp.ones(3)), []
    for i in range(2):
        loss, logits = p_step(w, shard(X + i))
        told.append(np.asarray(USE).tolist())
    return told


RESULT = main()
"""
)


@pytest.mark.parametrize(
    "use",
    [
        "jnp.argmax(logits, axis=-1).reshape(-1)",
        "np.argmax(np.array(logits), -1).flatten()",
        "jax.nn.softmax(logits).reshape(-1, 3)",
    ],
)
def test_what_is_computed_along_the_last_axis_is_presumed_to_keep_the_rows(use: str) -> None:
    text = ALONG_LAST.replace("USE", use)
    found = plan({"main.py": text})
    assert layouts(found)[1][1] == "split"
    assert any("has more numbers than one" in one.says for one in found.sites[0].assumed)
    assert layouts(plan({"main.py": text}, "auto"))[1][1] == "stacked"


@pytest.mark.parametrize(
    "use",
    [
        "jnp.argmax(logits, axis=0)",
        "jnp.argmax(logits).reshape(-1)",
        "jnp.argsort(logits, axis=-1, descending=True).reshape(-1, 3)",
        "jax.nn.softmax(logits, axis=1).reshape(-1, 3)",
    ],
)
def test_what_is_computed_along_another_axis_keeps_its_array_stacked(use: str) -> None:
    assert layouts(plan({"main.py": ALONG_LAST.replace("USE", use)}))[1][1] == "stacked"


@pytest.mark.parametrize("use", ["np.exp(loss)[0]", "jax.nn.sigmoid(loss)[0]", "np.tanh(loss[0])"])
def test_what_is_computed_of_each_element_and_then_read_of_one_device_is_replicated(use: str) -> None:
    assert layouts(plan({"main.py": ALONG_LAST.replace("USE", use)}))[1][0] == "replicated"


@pytest.mark.parametrize("use", ["np.isnan(loss).any()", "np.isfinite(loss).all()"])
def test_a_truth_of_all_elements_is_proven(use: str) -> None:
    found = plan({"main.py": ALONG_LAST.replace("USE", use)}, "auto")
    assert layouts(found)[1][0] == "replicated"
    assert f"np.asarray({use})" in found.files[0].after


def test_results_of_such_arithmetic_stay_the_same() -> None:
    uses = "(jnp.argmax(logits, axis=-1).reshape(-1), np.exp(loss)[0], jax.nn.softmax(logits).reshape(-1, 3))"
    text = ALONG_LAST.replace("np.asarray(USE).tolist()", f"[np.asarray(one).tolist() for one in {uses}]")
    found = plan({"main.py": text})
    assert layouts(found) == (["replicated", "split"], ["replicated", "split"])
    before, after = both("along last", {"main.py": text}, found)
    assert before["result"] == after["result"]
