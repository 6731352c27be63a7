"""A trainer as people write it, nothing of which is told, and one mistake at a time in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """
from functools import partial
import clu.checkpoint, clu.metrics, flax, jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training import checkpoints


@flax.struct.dataclass
class EvalMetrics(clu.metrics.Collection):
    loss: clu.metrics.Average.from_output("loss")


@flax.struct.dataclass
class Settings:
    axis: str = "batch"


def losses(logits, batch):
    weights = jnp.where(batch["labels"] > 0, 1.0, 0.0)
    return ((logits - batch["labels"]) ** 2 * weights).sum(), weights.sum()


def train_step(state, batch, rng, settings, clip):
    images, mask = [batch.get(k, None) for k in ("images", "mask")]
    rng = jax.random.fold_in(rng, state.step)

    def loss_fn(params):
        logits = state.apply_fn({"params": params}, images, rngs={"dropout": rng})
        total, count = losses(logits, batch)
        loss = total / count
        if clip:
            loss = loss + 1e-4 * sum(jnp.sum(p ** 2) for p in jax.tree.leaves(params))
        return loss

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    grads = jax.lax.pmean(grads, settings.axis)
    flat, _ = jax.tree.flatten(grads)
    norm = jnp.sqrt(sum([jnp.vdot(g, g) for g in flat]))
    if clip:
        factor = jnp.minimum(1.0, clip / (norm + 1e-6))
        grads = jax.tree.map(lambda g: factor * g, grads)
    state = state.apply_gradients(grads=grads)
    return state, {"loss": jax.lax.pmean(loss, "batch"), "norm": norm}


def eval_step(state, batch):
    logits = state.apply_fn({"params": state.params}, batch["images"])
    loss, _ = losses(logits, batch)
    return EvalMetrics.gather_from_model_output(loss=loss)


def make_bench(apply_fn):
    @partial(jax.pmap, axis_name="batch")
    def bench(params, images):
        return jax.lax.pmean(apply_fn(params, images).mean(), "batch")

    return bench


def main(state, batches, rng, folder):
    settings = Settings()
    p_train_step = jax.pmap(partial(train_step, settings=settings, clip=1.0), axis_name="batch")
    p_eval_step = jax.pmap(eval_step, axis_name="batch")
    ckpt = clu.checkpoint.MultihostCheckpoint(folder)
    state = ckpt.restore_or_initialize(state)
    state = jax_utils.replicate(state)
    keys = jax.random.split(rng, jax.local_device_count())
    for batch in batches:
        state, metrics = p_train_step(state, batch, keys)
        eval_metrics = jax_utils.unreplicate(p_eval_step(state, batch))
        print(metrics["loss"][0], eval_metrics.compute())
        if jax.process_index() == 0:
            checkpoints.save_checkpoint(folder, jax_utils.unreplicate(state), 0)
    bench = make_bench(state.apply_fn)
    bench = bench.lower(state.params, batch["images"]).compile()
    print(bench(state.params, batch["images"]))
"""
FINITE = """jax.lax.cond(
        jnp.isfinite(loss), lambda g: jax.lax.pmean(g, settings.axis), lambda g: jax.tree.map(jnp.zeros_like, g), grads
    )"""


def told(text: str) -> list[tuple[str, str]]:
    """The codes and the lines of what is told of a text."""
    lines = text.splitlines()
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [(one.code, lines[one.line - 1].strip()) for one in found]


def test_nothing_is_told_of_it() -> None:
    assert told(PROGRAM) == []


@pytest.mark.parametrize(
    ("right", "wrong", "code", "line"),
    [
        ("jax_utils.unreplicate(state), 0", "state, 0", "JM508", "checkpoints.save_checkpoint(folder, state, 0)"),
        ("grads = jax.lax.pmean(", "grads = jax.lax.psum(", "JM207", "grads = jax.lax.psum(grads, settings.axis)"),
        ("jax.lax.pmean(grads, settings.axis)", "grads", "JM201", "state = state.apply_gradients(grads=grads)"),
        ("jax.lax.pmean(grads, settings.axis)", FINITE, "JM301", "grads = jax.lax.cond("),
        ("settings.axis)", "'bacth')", "JM101", "grads = jax.lax.pmean(grads, 'bacth')"),
        ("jnp.sqrt(sum(", "jnp.sqrt(1 * jax.lax.psum(sum(", "JM202", None),
        (
            'jax.lax.pmean(loss, "batch")',
            "loss",
            "JM208",
            'return state, {"loss": loss, "norm": norm}',
        ),
        (
            "EvalMetrics.gather_from_model_output",
            "EvalMetrics.single_from_model_output",
            "JM208",
            "return EvalMetrics.single_from_model_output(loss=loss)",
        ),
        (
            "jax.random.split(rng, jax.local_device_count())",
            "jnp.tile(rng[None], (jax.local_device_count(), 1))",
            "JM205",
            "keys = jnp.tile(rng[None], (jax.local_device_count(), 1))",
        ),
        (
            'jax.pmap(eval_step, axis_name="batch")',
            "jax.pmap(eval_step)",
            "JM101",
            None,
        ),
        ('jax.pmap(eval_step, axis_name="batch")', "jax.jit(eval_step)", "JM101", None),
        ('@partial(jax.pmap, axis_name="batch")', "@jax.jit", "JM101", None),
        (
            "    state = ckpt.restore_or_initialize(state)",
            "    if jax.process_index() == 0:\n        state = ckpt.restore_or_initialize(state)",
            "JM301",
            "state = ckpt.restore_or_initialize(state)",
        ),
        (
            "    state = ckpt.restore_or_initialize(state)",
            "    if jax.process_index() == 0:\n        state = checkpoints.restore_checkpoint(folder, state)",
            "JM301",
            "state = checkpoints.restore_checkpoint(folder, state)",
        ),
    ],
)
def test_one_mistake_is_told_where_it_is_made(right: str, wrong: str, code: str, line: str | None) -> None:
    assert PROGRAM.count(right) == 1
    text = PROGRAM.replace(right, wrong)
    if code == "JM202":
        text = text.replace("for g in flat]))", 'for g in flat]), "batch"))')
    found = told(text)
    assert {one for one, _ in found} == {code}
    assert line is None or found == [(code, line)]
