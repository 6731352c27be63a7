"""Files without a map of their own: what they pass to those that have one counts for the proofs."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

TRAINER = """import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def train(net, axis):
    def step(w, x):
        grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), axis)
        return net(w) - 0.01 * grad

    p_step = jax.pmap(step, axis_name="batch")
    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(3):
        w = p_step(w, shard(np.ones((16, 3))))
    return jax_utils.unreplicate(w)
"""
NETS = """import jax


def twice(w):
    return 2 * w


def by_device(w):
    return w * (1 + jax.lax.axis_index("batch"))
"""


def layout(*texts: str) -> str:
    """The layout of what the step of the trainer returns, beside some other files."""
    files = {"trainer.py": TRAINER, **{f"file_{index}.py": text for index, text in enumerate(texts)}}
    sources = [(name, Path("/nowhere") / name, text) for name, text in files.items()]
    plan, _ = plan_sources(sources, PlanOptions("auto"))
    return plan.sites[0].outputs[0].layout


MAIN = "from trainer import train\nimport file_0 as nets\n\nif __name__ == '__main__':\n    print({})\n"
QUIET = NETS.partition("\n\n\ndef by_device")[0] + "\n"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((QUIET, MAIN.format("train(nets.twice, 'batch')")), "replicated"),
        ((NETS, MAIN.format("train(nets.by_device, 'batch')")), "stacked"),
        # an axis that is known, and one that is not
        ((QUIET, MAIN.format("train(nets.twice, ())")), "stacked"),
        ((QUIET, MAIN.format("train(nets.twice, 'batch'), train(nets.twice, ())")), "stacked"),
        ((QUIET, MAIN.format("train(nets.twice, 'batch')"), MAIN.format("train(nets.twice, ())")), "stacked"),
        # nothing brings the other one and the trainer together
        ((QUIET, MAIN.format("train(nets.twice, 'batch')"), NETS), "replicated"),
        # by a file between them, and by one that is named when the program runs
        ((QUIET, "from trainer import train as run\n", "from file_1 import run\nprint(run(len, ()))\n"), "stacked"),
        ((NETS, "import importlib\ntrain = importlib.import_module('trainer').train\nimport file_0\n"), "stacked"),
    ],
)
def test_what_entry_points_pass(texts: tuple[str, ...], expected: str) -> None:
    assert layout(*texts) == expected
