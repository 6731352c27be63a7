"""Attributes of an object that another file sets: what stands in the class is not all that they may be."""

from __future__ import annotations

import pytest

from tests.layouts.test_carried import both, plan

CONFIG = """\
from flax import jax_utils
from flax.training.common_utils import shard


class Config:
    def __init__(self):
        self.prepare = shard
        self.get = jax_utils.unreplicate
        self.axis = 0


cfg = Config()
"""
MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

from config import Config, cfg

X = np.arange(128, dtype=np.float32).reshape(16, 8)


def scaled(x):
    return shard(x / 2)


SET
step = jax.pmap(lambda w, x: w + jax.lax.psum(x.sum(), "b"), axis_name="b", in_axes=(0, AXIS))
w = step(jax_utils.replicate(jnp.ones(2)), PREPARE)
RESULT = np.asarray(GET).tolist()
"""
SETS = {
    "imported": ("cfg.prepare = scaled", "0", "cfg.prepare(X)", "w[0]"),
    "made there": ("c = Config()\nc.prepare = scaled", "0", "c.prepare(X)", "w[0]"),
    "axis": ("cfg.axis = 1", "cfg.axis", "X.reshape(2, 8, 8)", "w[0]"),
    "reader": ("cfg.get = lambda x: x.sum(0)", "0", "shard(X)", "cfg.get(w)"),
    "nothing": ("pass", "cfg.axis", "cfg.prepare(X)", "cfg.get(w)"),
}


@pytest.mark.parametrize("name", SETS)
def test_what_another_file_sets_counts(name: str) -> None:
    given, axis, prepare, get = SETS[name]
    text = MAIN.replace("SET", given).replace("AXIS", axis).replace("PREPARE", prepare).replace("GET", get)
    files = {"config.py": CONFIG, "main.py": text}
    found = plan(files, "auto")
    assert (found.sites[0].arguments[1].layout == "split") is (name in ("nothing", "reader"))
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
