"""Libraries' functions that replicate, split and take one slice, given their arguments by keyword."""

from __future__ import annotations

import pytest

from tests.layouts.running import Program, plan, run

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils

def step(w, batch, key):
    noise = jax.random.uniform(key)
    return w + jax.lax.pmean(batch.sum() * w, "d"), {"loss": jax.lax.pmean(batch.mean() + 0 * noise, "d")}

p_step = jax.pmap(step, "d")
w = REPLICATE
keys = common_utils.shard_prng_key(prng_key=jax.random.PRNGKey(0))
found = []
for batch in jax_utils.prefetch_to_device(iterator=(SPLIT for x in np.arange(48.0).reshape(3, 16)), size=2):
    w, metrics = p_step(w, batch, keys)
    found.append(metrics)
metrics = common_utils.get_metrics(device_metrics=found)
RESULT = [np.asarray(FIRST).tolist(), metrics["loss"].tolist()]
"""
WAYS = {
    "flax": ("jax_utils.replicate(tree=jnp.ones(3))", "common_utils.shard(xs=x)", "jax_utils.unreplicate(tree=w)"),
    "devices": (
        "jax_utils.replicate(devices=jax.local_devices(), tree=jnp.ones(3))",
        "x.reshape(jax.local_device_count(), -1)",
        "w[0]",
    ),
    "put": (
        "jax.device_put_replicated(x=jnp.ones(3), devices=jax.local_devices())",
        "common_utils.shard(xs=x)",
        "jax_utils.unreplicate(tree=w)",
    ),
    "tiled": (
        "jnp.repeat(a=jnp.ones(3)[None], repeats=jax.local_device_count(), axis=0)",
        "common_utils.shard(xs=x)",
        "w[0]",
    ),
}


def program(way: str) -> dict[str, str]:
    replicate, split, first = WAYS[way]
    return {"main.py": MAIN.replace("REPLICATE", replicate).replace("SPLIT", split).replace("FIRST", first)}


@pytest.mark.parametrize("way", list(WAYS))
def test_arguments_by_keyword_are_those_by_position(way: str) -> None:
    (site,) = plan(program(way)).sites
    assert [str(one.layout) for one in site.arguments[:2]] == ["replicated", "split"]
    assert [str(one.layout) for one in site.outputs] == ["replicated", "replicated"]


def test_the_numbers_are_the_same() -> None:
    files = program("flax")
    after = {file.path: file.after for file in plan(files).files}
    found = run([Program("before", files), Program("after", after)])
    assert (found["before"]["error"], found["after"]["error"]) == ("", "")
    assert found["before"]["result"] == found["after"]["result"]


def test_a_name_that_the_library_does_not_have_is_not_understood() -> None:
    files = {"main.py": program("flax")["main.py"].replace("replicate(tree=", "replicate(state=")}
    (site,) = plan(files).sites
    assert str(site.arguments[0].layout) == "stacked"
