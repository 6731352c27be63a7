"""Methods that only code out of sight calls: what they make of plain values is known in the end as well."""

from __future__ import annotations

from tests.layouts.test_presumed import plan

UNCALLED = """\
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import plugins
from flax import jax_utils


def batches(data, size, change=None):
    if change is None:
        change = lambda x: x
    for i in range(0, len(data), size):
        yield change(data[i : i + size])


@dataclass
class Evaluator(plugins.Base):
    data: list
    size: int

    def run(self, w):
        w, n = jax_utils.replicate(w), len(jax.local_devices())

        def loader():
            return batches(self.data, self.size)

        @jax.pmap
        def evaluate(w, x):
            return jnp.sum(x @ w, axis=-1)

        told = []
        for x in loader():
            x = jax.tree_util.tree_map(lambda x: x.reshape(n, x.shape[0] // n, *x.shape[1:]), x)
            told.append(evaluate(w, x))
        return told
"""


def test_batches_that_only_code_out_of_sight_asks_for_are_split_all_the_same() -> None:
    (site,) = plan({"main.py": UNCALLED}, "auto").sites
    assert [one.layout for one in site.arguments] == ["replicated", "split"]
