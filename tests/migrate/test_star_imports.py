"""Files that get jax by a star import are rewritten, and new names are none that star imports bring."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run

LIB = """\
import jax
import jax.numpy as jnp
import numpy as np


def step(x):
    return x - jax.lax.pmean(x, "batch")
"""
MAIN = """\
from lib import *

p_step = jax.pmap(step, axis_name="batch")
old = jax.tree_map(lambda x: x + 1, 3)


def main():
    return np.asarray(p_step(jnp.arange(24.0).reshape(8, 3))), old
"""
TAKEN = """\

P = Mesh = partial = 3


def mesh_of(tree):
    return 4
"""
USES = "    return np.asarray(p_step(jnp.arange(24.0).reshape(8, 3))), old, P, Mesh, mesh_of(None)\n"


@pytest.mark.parametrize("layout", ["auto", "stacked"])
def test_jax_by_a_star_import(layout: str) -> None:
    after = fix_files({"lib.py": LIB, "main.py": MAIN}, layout=layout)["main.py"]
    assert after.startswith("import jax\nfrom jax.sharding import Mesh, PartitionSpec as P\nfrom lib import *\n")
    assert "jax.shard_map(" in after
    assert "old = jax.tree.map(" in after


@pytest.mark.slow
def test_numbers_stay() -> None:
    main = MAIN.replace("jax.tree_map", "jax.tree.map")
    used = main.replace(main.splitlines(keepends=True)[-1], USES)
    programs = {"jax": {"lib.py": LIB, "main.py": main}, "taken": {"lib.py": LIB + TAKEN, "main.py": main},
                "used": {"lib.py": LIB + TAKEN, "main.py": used}}  # fmt: skip
    found = run(Program(name, files, fix_files(files)) for name, files in programs.items())
    assert {one.name: one.verdict for one in found} == dict.fromkeys(programs, "agrees")
