"""What a project declares of its functions counts for the rules, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.cli import main

TRAIN = """\
import jax
import numpy as np

from helpers import bcast


def step(key, x):
    return x + jax.random.normal(key, x.shape)


p_step = jax.pmap(step, axis_name="batch")
keys = bcast(jax.random.PRNGKey(0))
print(p_step(keys, np.ones((jax.device_count(), 3))))
"""
HELPERS = """\
import numpy as np


def bcast(x):
    rows = []
    for _ in range(8):
        rows.append(np.copy(x))
    return np.asarray(rows)
"""


def test_a_declared_replicate_makes_all_keys_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "helpers.py").write_text(HELPERS)
    assert main(["lint", "."]) == 0
    (tmp_path / "pyproject.toml").write_text('[tool.jaxmigrate]\nreplicates = ["helpers.bcast"]\n')
    capsys.readouterr()
    assert main(["lint", "."]) == 1  # the cache knows what was declared
    assert "train.py:12:" in capsys.readouterr().out
    (tmp_path / "pyproject.toml").write_text('[tool.jaxmigrate]\nreplicates = ["helpers.other"]\n')
    assert main(["lint", "."]) == 0
