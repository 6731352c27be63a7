"""JM202 and JM207 on sums and the counts that divide them: both of one device, or both of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """
import elsewhere, jax, optax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

def f(w, batch):
    each = (batch["x"] @ w - batch["y"]) ** 2
    mask = batch["mask"]
    {body}

{mapped}
"""
PMAP = "p = jax.pmap(f, 'i', in_axes=(None, 0))"
SHARD_MAP = """mesh = Mesh(jax.devices(), ("i",))
p = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P(), P("i")), out_specs=P(), check_vma=False))"""


def codes(text: str) -> list[str]:
    """The codes of what is told about reductions, but for JM201: what a device's own count divides differs as well."""
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [finding.code for finding in found if finding.code.startswith("JM2") and finding.code != "JM201"]


@pytest.mark.parametrize("mapped", [PMAP, SHARD_MAP])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return lax.psum(jnp.sum(each * mask), 'i') / jnp.sum(mask)", ["JM207"]),
        ("n = jnp.maximum(jnp.sum(mask), 1)\n    return lax.psum((each * mask).sum(), 'i') / n", ["JM207"]),
        ("return lax.psum(jnp.sum(each * mask), 'i') / lax.psum(jnp.sum(mask), 'i')", []),
        ("total, n = lax.psum((jnp.sum(each * mask), jnp.sum(mask)), 'i')\n    return total / n", []),
        ("return lax.psum(each, 'i') / lax.psum(mask, 'i')", []),
        ("return lax.pmean(jnp.sum(each * mask) / lax.psum(jnp.sum(mask), 'i'), 'i')", ["JM202"]),
        ("return lax.pmean(jnp.sum(each * mask) / lax.psum(jnp.sum(mask), 'i'), 'i') * lax.axis_size('i')", []),
        ("return lax.psum(jnp.sum(each * mask) / lax.psum(jnp.sum(mask), 'i'), 'i')", []),
        ("return lax.pmean(jnp.sum(each * mask) / lax.pmean(jnp.sum(mask), 'i'), 'i')", []),
        ("return lax.pmean(jnp.sum(each * mask) / lax.psum(1, 'i'), 'i')", []),
    ],
)
def test_values(mapped: str, body: str, told: list[str]) -> None:
    assert codes(PROGRAM.format(body=body, mapped=mapped)) == told


def test_the_length_of_a_slice() -> None:
    """Of a block under shard_map it may be that of a dimension that is not split, but for what is split in front."""
    body = "return lax.psum(jnp.sum(each), 'i') / batch['x'].shape[0]"
    assert codes(PROGRAM.format(body=body, mapped=PMAP)) == ["JM207"]
    assert codes(PROGRAM.format(body=body, mapped=SHARD_MAP)) == ["JM207"]
    for_columns = SHARD_MAP.replace('P("i")', 'P(None, "i")')
    assert codes(PROGRAM.format(body=body, mapped=for_columns)) == []


STEP = """
import elsewhere, jax, optax
import jax.numpy as jnp
from jax import lax

opt = optax.sgd(0.1)

def make(loss_fn, batch_size, count):
    def loss(w, batch):
        each = (batch["x"] @ w - batch["y"]) ** 2
        {loss}

    def step(w, s, batch):
        value, grads = jax.value_and_grad(loss)(w, batch)
        {reduced}
        updates, s = opt.update(grads, s, w)
        return optax.apply_updates(w, updates), s, {returned}

    p = jax.pmap(step, "i", in_axes=(None, None, 0))

    def update(w, s, batch):
        {update}
    return update
"""
MEAN = "return jnp.mean(each)"
SHARE = "return jnp.sum(each * batch['mask']) / lax.psum(jnp.sum(batch['mask']), 'i')"
CALL = "return p(w, s, batch)"


@pytest.mark.parametrize(
    ("loss", "reduced", "told"),
    [
        (MEAN, "grads = jax.tree.map(lambda g: lax.psum(g, 'i') / batch_size, grads)", ["JM207"]),
        (MEAN, "grads = jax.tree.map(lambda g: lax.psum(g, 'i') / count, grads)", []),
        (MEAN, "grads = lax.pmean(grads, 'i')", []),
        ("return jnp.sum(each)", "grads = jax.tree.map(lambda g: lax.psum(g, 'i') / batch_size, grads)", []),
        (SHARE, "grads = lax.pmean(grads, 'i')", ["JM202"]),
        (SHARE, "grads = lax.psum(grads, 'i')", []),
        (SHARE, "grads = jax.tree.map(lambda g: lax.pmean(g, 'i') * lax.axis_size('i'), grads)", []),
    ],
)
def test_gradients(loss: str, reduced: str, told: list[str]) -> None:
    returned = "lax.psum(value, 'i')" if loss == SHARE else "lax.pmean(value, 'i')"
    text = STEP.format(loss=loss, reduced=reduced, returned=returned, update=CALL)
    assert codes(text) == told


def test_a_mean_over_steps_divides_no_sum_over_devices() -> None:
    body = """def one(_, row):
        return None, {{"loss": lax.{}(jnp.mean((row @ w) ** 2), 'i')}}
    _, metrics = lax.scan(one, None, batch["x"])
    return jax.tree.map(lambda v: v.mean(axis=0), metrics)"""
    assert codes(PROGRAM.format(body=body.format("psum"), mapped=SHARD_MAP)) == ["JM207"]
    assert codes(PROGRAM.format(body=body.format("pmean"), mapped=SHARD_MAP)) == []


@pytest.mark.parametrize(
    ("update", "told"),
    [
        (CALL, ["JM207"]),
        ("batch = elsewhere.split(batch, len(jax.devices()))\n        " + CALL, ["JM207"]),
        ("assert batch_size % jax.device_count() == 0\n        " + CALL, ["JM207"]),
        ("s = elsewhere.scaled(s, 1 / jax.device_count())\n        " + CALL, []),
        ("n = jax.device_count()\n        return p(w, elsewhere.scaled(s, n), batch)", []),
    ],
)
def test_a_loss_out_of_sight_that_is_averaged(update: str, told: list[str]) -> None:
    """What counts devices to split a batch by scales nothing."""
    parts = {"loss": "return loss_fn(w, batch)", "returned": "lax.pmean(value, 'i')", "update": update}
    assert codes(STEP.format(reduced="grads = lax.psum(grads, 'i')", **parts)) == told
    assert codes(STEP.format(reduced="grads = lax.pmean(grads, 'i')", **parts)) == []
