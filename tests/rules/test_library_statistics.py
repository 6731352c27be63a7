"""JM206 where it is a library's function that averages batch statistics: before one use of a state, and not another."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TRAINER = """\
import jax
from flax import jax_utils
from scenic.train_lib import train_utils


def train(step, model, dataset, state, total, workdir):
    model_state = state.model_state
    train_step_pmapped = jax.pmap(step, axis_name="batch")
    eval_step_pmapped = jax.pmap(model.evaluate, axis_name="batch")
    for number in range(total):
        state, metrics = train_step_pmapped(state, next(dataset.train_iter))
        if number % 100 == 0:
            {before_eval}
            for _ in range(10):
                eval_step_pmapped(state, next(dataset.valid_iter))
        if number % 1000 == 0:
            {before_saving}
            train_utils.save_checkpoint(workdir, jax_utils.unreplicate(state))
    return state
"""
SYNC = "state = train_utils.sync_model_state_across_replicas(state)"


@pytest.mark.parametrize(
    ("before_eval", "before_saving", "told"),
    [(SYNC, SYNC, False), ("pass", SYNC, True), (SYNC, "pass", True), ("pass", "pass", False)],
)
def test_statistics_that_a_library_averages(before_eval: str, before_saving: str, told: bool) -> None:
    text = TRAINER.format(before_eval=before_eval, before_saving=before_saving)
    found = [one.code for one in lint([decode(text.encode(), "main.py")], Config()) if one.code == "JM206"]
    assert bool(found) is told
