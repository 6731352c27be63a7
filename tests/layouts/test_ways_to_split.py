"""Ways in which people replicate and split that come down to one of the few that are known."""

from __future__ import annotations

import pytest

from tests.layouts.running import Program, plan, run

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np

def step(w, batch):
    return w - 0.1 * jax.lax.pmean(batch["x"].mean() * w, "d"), jax.lax.pmean(batch["x"].sum(), "d")

DEFINITIONS
p_step = jax.pmap(step, "d")
w = REPLICATE
for x in np.arange(48.0).reshape(3, 16):
    w, loss = p_step(w, SPLIT)
RESULT = [np.asarray(w[0]).tolist(), float(loss[0])]
"""
USUAL = "jnp.stack([jnp.ones(3)] * jax.local_device_count())"
RESHAPED = "x.reshape((jax.local_device_count(), -1) + x.shape[1:])"
WAYS = {
    "each of the devices": ("", "jnp.stack([one for _ in jax.local_devices()])", '{"x": x.reshape(8, 2)}'),
    "numbers as they are": (
        f"def shard(xs):\n    return jax.tree.map(lambda x: {RESHAPED} if len(x.shape) != 0 else x, xs)\n",
        USUAL,
        'shard({"x": x})',
    ),
    "not below one axis": (
        f"shard = lambda xs: jax.tree.map(lambda x: {RESHAPED} if x.ndim > 0 else x, xs)\n",
        USUAL,
        'shard({"x": x})',
    ),
}


def program(way: str) -> dict[str, str]:
    definitions, replicate, split = WAYS[way]
    text = MAIN.replace("DEFINITIONS", f"one = jnp.ones(3)\n{definitions}")
    return {"main.py": text.replace("REPLICATE", replicate).replace("SPLIT", split)}


@pytest.mark.parametrize("way", list(WAYS))
def test_arrays_are_global(way: str) -> None:
    (site,) = plan(program(way)).sites
    assert str(site.arguments[0].layout) == "replicated"
    assert str(site.arguments[1].layout) == ("split" if "shard" in WAYS[way][0] else "stacked")
    assert [str(one.layout) for one in site.outputs] == ["replicated", "replicated"]


def test_their_numbers_are_the_same() -> None:
    every = {way: program(way) for way in WAYS}
    before = [Program(f"before {way}", files) for way, files in every.items()]
    after = [Program(f"after {way}", {f.path: f.after for f in plan(files).files}) for way, files in every.items()]
    found = run([*before, *after])
    for way in WAYS:
        one, other = found[f"before {way}"], found[f"after {way}"]
        assert (one["error"], other["error"]) == ("", "")
        assert one["result"] == other["result"]


@pytest.mark.parametrize("other", ["x.shape[0] != 0", "len(x.shape) != 1", "x.ndim < 2"])
def test_what_leaves_some_arrays_as_they_are_is_no_split(other: str) -> None:
    text = program("numbers as they are")["main.py"].replace("len(x.shape) != 0", other)
    (site,) = plan({"main.py": text}).sites
    assert str(site.arguments[1].layout) == "stacked"
