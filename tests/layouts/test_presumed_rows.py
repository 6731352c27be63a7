"""Rows of labels and of predictions that host code goes through one by one, and what likely presumes of them."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
from flax.jax_utils import replicate, unreplicate
from flax.training.common_utils import shard

HEADS = {"sign": lambda x: jnp.sign(x), "both": lambda x: (x, x * 2)}


class Metric:
    def __init__(self):
        self.rows = []

    def add_batch(self, predictions, references):
        self.rows += [(np.asarray(p).tolist(), float(r), {r: r.dtype.kind}[r]) for p, r in zip(predictions, references)]


def loader(count, size):
    for i in range(count):
        x = np.sin(np.arange(size * 3, dtype=np.float32) + i)
        batch = {"x": x.reshape(size, 3), "labels": LABELS(size) + i}
        batch = {name: np.array(value) for name, value in batch.items()}
        batch = shard(batch)
        yield batch


def predict(params, batch):
    return HEADS[NAME](batch["x"] @ params)


def main():
    p_predict = jax.pmap(predict, axis_name="batch")
    params, metric = replicate(jnp.sin(jnp.arange(3.0))), Metric()
    for batch in loader(2, 32):
        labels = batch.pop("labels")
        predictions = p_predict(params, batch)
        metric.add_batch(predictions=chain(*predictions), references=chain(*labels))
    leftover = {"x": np.ones((5, 3), np.float32), "labels": np.arange(5)}
    labels = leftover.pop("labels")
    metric.add_batch(predictions=[predict(unreplicate(params), leftover)], references=labels)
    return metric.rows


RESULT = repr(main())
"""
ROWS = "`predictions` is one array, and no tuple or list of arrays"
NUMBERS = "JAX keeps the numbers of `labels` as they are: none needs more than 32 bits"


def program(labels: str, name: str) -> dict[str, str]:
    """A program whose labels and predictions are of some kind."""
    return {"main.py": MAIN.replace("LABELS(size)", f"{labels}(size)").replace("NAME", f'"{name}"')}


def test_rows_that_a_reader_goes_through_are_those_of_one_array() -> None:
    files = program("np.arange", "sign")
    assert layouts(plan(files, "auto")) == (["replicated", "stacked"], ["stacked"])
    found = plan(files)
    assert layouts(found) == (["replicated", "split"], ["split"])
    assert {ROWS, NUMBERS} <= {one.says for site in found.sites for one in site.assumed}
    assert "predictions=chain(predictions), references=chain(np.asarray(labels))" in found.files[0].after
    before, after = both("rows", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("labels", "name", "says"), [("0.1 + np.arange", "sign", NUMBERS), ("np.arange", "both", ROWS)]
)
def test_other_rows_differ_only_in_what_an_assumption_names(labels: str, name: str, says: str) -> None:
    files = program(labels, name)
    found = plan(files)
    before, after = both("other rows", files, found)
    assert before["error"] == ""
    assert after["error"] or before["result"] != after["result"]
    assert says in {one.says for site in found.sites for one in site.assumed}


CHAINED = """\
from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
from flax.jax_utils import replicate
from flax.training.common_utils import shard

LABELS = jnp.arange(32)
p_predict = jax.pmap(lambda w, batch: batch["x"] @ w)
params = replicate(jnp.sin(jnp.arange(3.0)))
batch = {"x": np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)}
BATCH
batch = shard(batch)
predictions = p_predict(params, batch)
labels = batch["labels"]
RESULT = [np.asarray(row).tolist() for row in chain(*labels)]
"""


@pytest.mark.parametrize(
    "made",
    [
        'batch["labels"] = (LABELS, LABELS + 1)',
        'batch = {**batch, "labels": [LABELS, LABELS + 1]}',
        "both = [LABELS, LABELS + 1]\nbatch.update(labels=both)",
        'batch["labels"] = jax.tree.map(lambda i: LABELS + i, (0, 1))',
        'batch["labels"] = jnp.split(LABELS, 2)',
    ],
)
def test_what_is_set_to_several_arrays_in_sight_is_not_one(made: str) -> None:
    assert layouts(plan({"main.py": CHAINED.replace("BATCH", made)}))[0][1] == "stacked"
    one = CHAINED.replace("BATCH", 'batch["labels"] = LABELS')
    assert layouts(plan({"main.py": one}))[0][1] == "split"


FETCHING = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax.jax_utils import replicate
from flax.training.common_utils import shard

RANK = jax.process_index()


def sample(w, x):
    return jnp.tanh(x[:, None, :] * w), x @ w


p_sample = jax.pmap(sample, axis_name="batch")
w = replicate(jnp.sin(jnp.arange(3.0)))
RESULT = []
for i in range(2):
    images, scores = p_sample(w, shard(np.cos(np.arange(96, dtype=np.float32) + i).reshape(32, 3)))
    images = np.array(images)
    images = images.reshape(-1, *images.shape[-2:])
    scores = jnp.reshape(jax.device_get(scores), (-1, 4))
    RESULT.append([images, images.shape, np.asarray(scores)])
"""


def test_rows_that_are_fetched_and_put_in_another_shape_are_those_of_one_array() -> None:
    files = {"main.py": FETCHING}
    assert layouts(plan(files, "auto"))[1] == ["stacked", "stacked"]
    found = plan(files)
    assert layouts(found) == (["replicated", "split"], ["split", "split"])
    told = {one.says for site in found.sites for one in site.assumed}
    assert {"`images` has more than 3 axes", "`scores` has more than one number for each device"} <= told
    assert "np.array(local_rows(images))" in found.files[0].after
    before, after = both("fetched", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("images.reshape(-1, *", "images.reshape(len(images), -1, *"),
        ("images = images.reshape", "print(images.shape[:2]); images = images.reshape"),
        ("images = images.reshape", "flat = images.reshape"),
        ("(-1, *images.shape[-2:])", "(-1, *images.shape[1:])"),
        ("(-1, *images.shape[-2:])", "(-1, images.shape[0])"),
        ("np.array(images)\n", "np.array([images, images])\n"),
        ("RESULT = []", "RESULT = [np.array(w).reshape(-1)]\nimages = w"),
    ],
)
def test_what_tells_where_the_device_axis_is_keeps_it(old: str, new: str) -> None:
    assert old in FETCHING
    found = plan({"main.py": FETCHING.replace(old, new)})
    assert "stacked" in [*layouts(found)[0], layouts(found)[1][0]]


LAST_AXES = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax.jax_utils import replicate
from flax.training.common_utils import shard

RANK = jax.process_index()
p_score = jax.pmap(lambda w, batch: jnp.tanh(batch["ids"] * w))
w = replicate(jnp.sin(jnp.arange(6.0)))
RESULT = []
for i in range(2):
    batch = {"ids": np.cos(np.arange(96.0) + i).reshape(16, 6), "labels": np.arange(96).reshape(16, 2, 3) * i}
    batch = shard({name: jnp.array(value) for name, value in batch.items()})
    labels = batch["labels"]
    scores = p_score(w, batch)
    RESULT.append(np.asarray(SCORES))
    RESULT.append(np.asarray(LABELS))
"""


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ("scores.reshape(-1, scores.shape[-1])", "labels.reshape(-1, labels.shape[-2], labels.shape[-1])"),
        ("jnp.reshape(scores, (-1, scores.shape[-1]))", "labels.reshape((-1,) + labels.shape[-2:])"),
        (
            "jax.device_get(scores).reshape(-1, scores.shape[-1])",
            'batch["labels"].reshape(-1, batch["labels"].shape[-1])',
        ),
        ("jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), scores)", "np.concatenate(jax.device_get(labels))"),
    ],
)
def test_last_axes_that_are_kept_are_those_of_the_global_array(scores: str, labels: str) -> None:
    files = {"main.py": LAST_AXES.replace("SCORES", scores).replace("LABELS", labels)}
    found = plan(files)
    assert layouts(found) == (["replicated", "split"], ["split"])
    assert found.files[0].after.count("local_rows(") == 3  # of this process, before anything is fetched
    assert "local_rows(jax.device_get" not in found.files[0].after
    before, after = both("last axes", files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "labels",
    [
        "labels.reshape(-1, labels.shape[-2])",
        "labels.reshape(-1, labels.shape[-1], labels.shape[-2])",
        "labels.reshape(-1, labels.shape[-1] * 2)",
        "labels.reshape(labels.shape[-1], -1)",
        "labels.reshape(-1, scores.shape[-1])",
        "labels.reshape(-1, *labels.shape[1:])",
        "labels.reshape(-1, *labels.shape[-3:-1])",
    ],
)
def test_other_sizes_of_an_array_keep_what_they_were(labels: str) -> None:
    files = {"main.py": LAST_AXES.replace("SCORES", "scores.reshape(-1, 6)").replace("LABELS", labels)}
    found = plan(files)
    assert not [a for site in found.sites for a in site.assumed if "more than 2" in a.says or "more than 3" in a.says]
