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
