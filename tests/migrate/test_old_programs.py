"""Programs written for JAX 0.4, after fix: they run on this JAX with warnings as errors, and print what they printed.

`expected.txt` in a program's folder is what jax 0.4.30 prints for `before`, on 8 devices. Of a notebook the cells run
in order.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxmigrate.commands.notebooks import laid_out
from jaxmigrate.sources import read_source
from jaxmigrate.verify.child import notebook
from tests.flags import UNOPTIMISED

FIXTURES = Path(__file__).parents[2] / "fixtures"
PROGRAMS = [
    ("old_shard_map_psum", "main.py"),
    ("old_parallel_notebook", "parallel.ipynb"),
    ("mesh_notebook", "meshes.ipynb"),
]
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")

pytestmark = pytest.mark.slow


def command(program: Path, folder: Path) -> list[str]:
    """What runs a program, or the cells of a notebook in a folder."""
    if program.suffix == ".py":
        return [str(program)]
    source = read_source(program)
    for name, content in laid_out(source, program.name, source.text).items():
        (folder / name).write_bytes(content)
    return [str(notebook.__file__), str(folder / program.name)]


def plain(text: str) -> list[str]:
    """Lines without numbers with a point, in the words in which every JAX shows meshes and specs."""
    return NUMBER.sub("#", text.replace("PartitionSpec(", "P(").replace(", axis_types=(Auto,))", ")")).splitlines()


@pytest.mark.parametrize(("folder", "main"), PROGRAMS)
def test_prints_what_it_did(folder: str, main: str, tmp_path: Path) -> None:
    pytest.importorskip("flax")
    flags = " ".join(("--xla_force_host_platform_device_count=8", *UNOPTIMISED))
    environment = {**os.environ, "XLA_FLAGS": flags, "NPROC": "64"}
    environment |= {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    run = command(FIXTURES / folder / "auto" / main, tmp_path)
    strict = [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", *run]
    done = subprocess.run(strict, capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    expected = (FIXTURES / folder / "expected.txt").read_text()
    assert plain(done.stdout) == plain(expected)
    found, wanted = ([float(number) for number in NUMBER.findall(text)] for text in (done.stdout, expected))
    np.testing.assert_allclose(found, wanted, atol=2e-4)
