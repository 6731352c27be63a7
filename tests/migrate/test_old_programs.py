"""Programs written for JAX 0.4, after fix: they run on this JAX with warnings as errors, and print what they printed.

`expected.txt` in a program's folder is what jax 0.4.30 prints for `before`, on 8 devices.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures"
PROGRAMS = [("old_shard_map_psum", "main.py"), ("old_parallel_notebook", "parallel.py")]

pytestmark = pytest.mark.slow


def printed(text: str) -> dict[str, Any]:
    """The values of a program by the names that it prints them under."""
    lines = [line.partition(" [") if " [" in line else line.rpartition(" ") for line in text.splitlines()]
    return {name: ast.literal_eval(opening.strip() + rest) for name, opening, rest in lines}


@pytest.mark.parametrize(("folder", "main"), PROGRAMS)
def test_prints_what_it_did(folder: str, main: str) -> None:
    pytest.importorskip("flax")
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "NPROC": "64"}
    environment |= {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", str(FIXTURES / folder / "auto" / main)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    expected, found = printed((FIXTURES / folder / "expected.txt").read_text()), printed(done.stdout)
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, atol=2e-4, err_msg=name)
