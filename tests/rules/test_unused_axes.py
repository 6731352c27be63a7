"""JM101 and JM102: axes that are written once in a program, and so are either bound or used, and never both."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

MESH = """\
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
def make():
    return Mesh(np.asarray(jax.devices()), ["{axis}"])
"""
RULES = """\
import re
from jax.sharding import PartitionSpec as P
RULES = [(("fc_in", "kernel"), P(None, "dp")), (("fc_out", "kernel"), P("dp", None)), (("bias",), P("dp"))]
def spec_of(path):
    return next(spec for rule, spec in RULES if all(map(re.search, rule, path)))
"""
FSDP = """\
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
def fsdp(axis, least=1):
    def update(mesh, x):
        return P(axis) if x.size % mesh.shape[axis] == 0 else P()
    return update
def main(params):
    mesh = Mesh(np.asarray(jax.devices()), ("fsdp",))
    spec = jax.tree.map(lambda x: fsdp("{axis}")(mesh, x), params)
    return jax.device_put(params, NamedSharding(mesh, P("fsdp"))), spec
"""
METRICS = """\
import jax
class Average:
    def reduce(self):
        total = jax.lax.psum(self.total, axis_name="batch")
        return total / jax.lax.psum(self.weight, axis_name="batch")
class Sum:
    def reduce(self, replicated):
        total = self.total
        if replicated:
            total = jax.lax.psum(total, axis_name="{axis}")
        return total
"""
STEP = """\
import jax
from metrics import Average
step = jax.pmap(lambda x: Average(x).reduce(), axis_name="batch")
"""


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"mesh.py": MESH.replace("{axis}", "data"), "rules.py": RULES}, [("mesh.py", "JM102")]),
        ({"mesh.py": MESH.replace("{axis}", "dp"), "rules.py": RULES}, []),
        ({"mesh.py": MESH.replace("{axis}", "data")}, []),  # the specs are out of sight
        ({"train.py": FSDP.replace("{axis}", "data")}, [("train.py", "JM102")]),
        ({"train.py": FSDP.replace("{axis}", "fsdp")}, []),
        ({"metrics.py": METRICS.replace("{axis}", "data"), "step.py": STEP}, [("metrics.py", "JM101")]),
        ({"metrics.py": METRICS.replace("{axis}", "batch"), "step.py": STEP}, []),
        ({"metrics.py": METRICS.replace("{axis}", "data"), "step.py": STEP, "other.py": "AXIS = 'data'\n"}, []),
    ],
)
def test_axes_written_once(files: dict[str, str], told: list[tuple[str, str]]) -> None:
    sources = [decode(text.encode(), name, Path("/project", name)) for name, text in files.items()]
    found = [(one.path, one.code) for one in lint(sources, Config())]
    assert [one for one in found if one[1] in ("JM101", "JM102")] == told
