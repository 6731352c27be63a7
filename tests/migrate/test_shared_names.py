"""Functions that files share have a name that is free in all of them: no file imports one under another name."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program
from tests.migrate.forms.running import run as run_here

TRAIN = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
import scoring


def step(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: ((x @ w) ** 2).mean())(w), "batch")


p_step = jax.pmap(step, "batch")


def main():
    w = jax_utils.replicate(jnp.arange(3.0))
    for i in range(3):
        w = p_step(w, common_utils.shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    return np.asarray(jax_utils.unreplicate(w)), scoring.score(jax_utils.unreplicate(w))
"""

SCORING = """
import jax
import numpy as np
from flax import jax_utils


def loss(w, x):
    return jax.lax.pmean(((x @ w) ** 2).mean(), "batch")


p_loss = jax.pmap(loss, "batch")


def {own}(x):
    return x.reshape(jax.local_device_count(), -1, *x.shape[1:])


def score(w):
    x = {own}(np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3))
    return np.asarray(jax_utils.unreplicate(p_loss(jax_utils.replicate(w), x)))
"""


@pytest.mark.parametrize(
    ("own", "shard", "mesh"), [("shard", "to_mesh", "get_mesh"), ("get_mesh", "shard", "device_mesh")]
)
def test_both_files_import_one_function_by_its_name(own: str, shard: str, mesh: str) -> None:
    before = {"main.py": TRAIN, "scoring.py": SCORING.format(own=own)}
    after = fix_files(before, "auto")
    assert f"def {shard}(tree, spec):" in after["sharding.py"]
    assert f"def {mesh}():" in after["sharding.py"]
    assert not any(f" as {name}" in text for text in after.values() for name in (shard, mesh))
    assert all(f"from sharding import {', '.join(sorted((mesh, shard)))}\n" in after[name] for name in before)
    (verdict,) = run_here([Program("names", before, after)], flags=UNOPTIMISED)
    assert verdict.verdict == "agrees", verdict.text


def test_names_stay_where_no_file_has_others() -> None:
    after = fix_files({"main.py": TRAIN, "scoring.py": SCORING.format(own="rows")}, "auto")
    assert "def shard(tree, spec):" in after["sharding.py"]
