"""Old shard_maps, pjit, and jit with shardings are sites like any other, alone and beside pmap."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main

MIXED = """\
import functools

import jax
import numpy as np
from jax.experimental.pjit import pjit
from jax.experimental.shard_map import shard_map
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("x",))


@functools.partial(jax.pmap, axis_name="i")
def step(x):
    return jax.lax.pmean(x * 2, "i")


@jax.jit
@functools.partial(shard_map, mesh=mesh, in_specs=P("x"), out_specs=P(), check_rep=False)
def total(x):
    return jax.lax.psum(x.sum(), "x")


scaled = pjit(lambda x: x * 3, in_shardings=NamedSharding(mesh, P("x")), out_shardings=NamedSharding(mesh, P()))
plain = jax.jit(lambda x: x + 1)

rows = np.arange(16.0, dtype=np.float32)
print(float(step(rows.reshape(8, 2))[0].sum()), float(total(rows)), float(scaled(plain(rows)).sum()))
"""
_STEP = MIXED[MIXED.index("@functools.partial(jax.pmap") : MIXED.index("@jax.jit")]
ALONE = MIXED.replace(_STEP, "").replace("float(step(rows.reshape(8, 2))[0].sum()), ", "")
COMMAND = ["--", sys.executable, "main.py"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "now").mkdir()
    monkeypatch.chdir(tmp_path / "now")
    (tmp_path / "now" / "pyproject.toml").touch()
    return tmp_path


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {f"{site['site']['line']} {site['site']['name']}": site["verdict"] for site in found["sites"]}


def test_beside_pmap_all_must_agree(project: Path) -> None:
    (project / "was").mkdir()
    for folder in ("was", "now"):
        (project / folder / "main.py").write_text(MIXED)
    assert main(["fix", "main.py", "--verify", "--report", "../r.json", *COMMAND]) == 0
    found = json.loads((project / "r.json").read_text())["verification"]
    assert verdicts(found) == dict.fromkeys(("12 step", "18 total", "23 <lambda>"), "bitwise equal")
    assert found["coverage"] == {"sites": 3, "exercised": 3, "equal": 3, "within": 0}
    text = (project / "now" / "main.py").read_text()
    assert "pjit" not in text
    (project / "now" / "main.py").write_text(text.replace("x * 3", "x * 4"))
    assert main(["verify", ".", "--original", "../was", "--report", "../r.json", *COMMAND]) == 1
    found = json.loads((project / "r.json").read_text())["verification"]
    assert verdicts(found) == {"12 step": "bitwise equal", "18 total": "bitwise equal", "23 <lambda>": "different"}
    assert "after call 0 of main.py:23 (<lambda>)" in found["outputs"][0]


def test_alone_they_are_the_sites(project: Path) -> None:
    (project / "now" / "main.py").write_text(ALONE)
    assert main(["fix", "main.py", "--verify", "--report", "../r.json", *COMMAND]) == 0
    found = json.loads((project / "r.json").read_text())["verification"]
    names = {site["site"]["name"]: site["verdict"] for site in found["sites"]}
    assert names == dict.fromkeys(("total", "<lambda>"), "bitwise equal")
    assert "pjit" not in (project / "now" / "main.py").read_text()
