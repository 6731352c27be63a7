"""Where a backend runs already, a map has its mesh in place: `jax.jit(jax.shard_map(...))`. Importing starts none."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files

CLASS = """import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

class Trainer:
    def __init__(self, size):
        FIRST
        self.step = jax.pmap(self.update, axis_name="batch")

    def update(self, w, x):
        return w - jax.lax.pmean((x @ w).mean(), "batch")

SECOND
trainer = Trainer(3)
w = jax_utils.replicate(jnp.ones(3))
for _ in range(2):
    w = trainer.step(w, shard(np.ones((16, 3), np.float32)))
RESULT = np.asarray(w[0])
"""
IN_PLACE = "self.step = jax.jit(\n            jax.shard_map("


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("self.start = jnp.zeros((size,))", ""),
        ("self.key, other = jax.random.split(jax.random.key(0))", ""),
        ("", "key = jax.random.PRNGKey(0)"),
        ("", "print('on', jax.device_count())"),
    ],
)
def test_a_backend_that_runs_takes_the_mesh_in_place(first: str, second: str) -> None:
    text = fix_files({"main.py": CLASS.replace("FIRST", first or "pass").replace("SECOND", second)})["main.py"]
    assert IN_PLACE in text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("", ""),
        ("if size > 4:\n            self.start = jnp.zeros((size,))", ""),
        ("self.start = size and jnp.zeros((size,))", ""),
        ("self.start = lambda: jnp.zeros((size,))", ""),
        ("self.start = [jnp.zeros((size,)) for _ in range(size)]", ""),
        ("self.kind = jnp.dtype('float32')", ""),
        ("", "try:\n    import wandb\n    key = jax.random.PRNGKey(0)\nexcept ImportError:\n    pass"),
        ("", "for i in range(0):\n    key = jax.random.PRNGKey(0)"),
        ("", "assert np.__version__ > '1', f'on {jax.device_count()} devices'"),
        ("", "def key():\n    return jax.random.PRNGKey(0)"),
        ("", "def devices():\n    return []\ncount = devices()"),
        ("", "other = Trainer(3)\nkey = jax.random.PRNGKey(0)"),
    ],
)
def test_importing_starts_no_backend(first: str, second: str) -> None:
    text = fix_files({"main.py": CLASS.replace("FIRST", first or "pass").replace("SECOND", second)})["main.py"]
    assert IN_PLACE not in text
    assert "self.step = jax.jit(sharded_step)" in text
