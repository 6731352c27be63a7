"""Calls of one of several functions, of which not all do the same: what they do stays as it is."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, plan

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils

N = jax.local_device_count()
step = jax.pmap(lambda x: jax.lax.psum(x.sum(), "b"), axis_name="b")


def plain(x):
    return x.reshape((N, -1) + x.shape[1:])


def scaled(x):
    x = x / 2
    return x.reshape((N, -1) + x.shape[1:])


"""
TAIL = """\


def main(prepare, scale=True):
    x = np.arange(48, dtype=np.float32).reshape(16, 3)
    return step(prepare(x))[0].tolist()


"""
WAYS = {
    "condition": ("prepare = scaled if N > 1 else plain", "RESULT = main(prepare)\n"),
    "table": (
        'KINDS = {"own": scaled, "flax": common_utils.shard}\nprepare = KINDS["own"]',
        "RESULT = main(prepare)\n",
    ),
    "parameter": ("pass", "RESULT = main(scaled), main(common_utils.shard), main(plain)\n"),
    "def again": (
        "def prepare(x):\n    return common_utils.shard(x)\n\n\ndef prepare(x):\n    return common_utils.shard(x / 2)",
        "RESULT = main(prepare)\n",
    ),
    "methods": (
        (
            "class Plain:\n    def shard(self, x):\n        return common_utils.shard(x)\n\n\n"
            "class Scaled(Plain):\n    def shard(self, x):\n        return super().shard(x / 2)\n\n\n"
            "prepare = (Scaled if N > 1 else Plain)().shard"
        ),
        "RESULT = main(prepare)\n",
    ),
    "constant": (
        "SCALE = N > 1\n\n\ndef prepare(x):\n    return (scaled if SCALE else common_utils.shard)(x)",
        "RESULT = main(prepare)\n",
    ),
    "first slice": (
        (
            "SCALE = N > 1\n\n\ndef doubled(t):\n    return jax.tree.map(lambda x: x[0] * 2, t)\n\n\n"
            "take = doubled if SCALE else jax_utils.unreplicate"
        ),
        "RESULT = take(step(plain(np.ones((16, 3), np.float32)))).tolist()\n",
    ),
    "other kinds": (
        "prepare = jax_utils.replicate if N > 99 else common_utils.shard",
        "RESULT = main(prepare), main(jax_utils.replicate), main(common_utils.shard)\n",
    ),
}


@pytest.mark.parametrize("layout", ["auto", "likely"])
@pytest.mark.parametrize("name", WAYS)
def test_what_another_function_does_is_not_lost(name: str, layout: str) -> None:
    chosen, last = WAYS[name]
    files = {"main.py": HEAD + chosen + "\n" + TAIL + last}
    before, after = both("program", files, plan(files, layout))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
