"""Files that are parts of a package and a script's neighbours as well have helpers of their own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

STEPS = """import jax
import jax.numpy as jnp


def make(rate):
    def step(w, x):
        return w - rate * jax.lax.pmean((x @ w).mean(), "batch")

    return jax.pmap(step, "batch")
"""
LOOP = """import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

IMPORTS


def train():
    w, step = jax_utils.replicate(jnp.ones(3)), make(0.5)
    for i in range(2):
        w = step(w, shard(np.ones((16, 3), np.float32)))
    return jax_utils.unreplicate(w)
"""
BOTH = "try:\n    from .steps import make\nexcept ImportError:\n    from steps import make"


@pytest.mark.parametrize(
    ("imports", "shared"),
    [(BOTH, ""), ("from .steps import make", "from .sharding"), ("from steps import make", "from sharding")],
)
def test_two_ways_for_one_import(tmp_path: Path, imports: str, shared: str) -> None:
    texts = {
        "main.py": "from nn.loop import train\n\nprint(train())\n" if "." in imports else "print()\n",
        "nn/__init__.py": "",
        "nn/steps.py": STEPS,
        "nn/loop.py": LOOP.replace("IMPORTS", imports),
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    plan, _ = plan_sources([(name, tmp_path / name, text) for name, text in texts.items()], PlanOptions("auto"))
    after = {file.path: file.after for file in plan.files}
    for name in ("nn/steps.py", "nn/loop.py"):
        found = re.search(r"^(from \.?sharding) import", after[name], re.MULTILINE)
        assert (found[1] if found is not None else "") == shared
