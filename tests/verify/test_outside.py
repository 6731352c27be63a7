"""Files outside of the project: every run meets those that the run before it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.verify.model import Verdict
from tests.verify.marked import verify_program

RESUMES = """\
import os

import jax
import jax.numpy as jnp
import numpy as np

SAVED = PLACE


def step(w, x):
    return w + jax.lax.pmean(x, "i")


p_step = jax.pmap(step, axis_name="i")
w = np.load(SAVED) if os.path.exists(SAVED) else np.ones(8, np.float32)
for i in range(2):
    w = p_step(w, jnp.arange(8.0) + i)
np.save(SAVED, np.asarray(w))
print(w.sum())
"""


def test_what_one_run_hands_on_to_the_next_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved, scratch = tmp_path / "saved" / "w.npy", tmp_path / "scratch"
    saved.parent.mkdir()
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    evidence = verify_program(tmp_path / "project", RESUMES.replace("PLACE", repr(str(saved))))
    site = evidence.sites[0]
    assert site.verdict is Verdict.NONDETERMINISTIC
    assert f"it reads {saved}, which the run before wrote" in site.message
    assert any(
        f"writes outside of the project, where every run meets the last one's files: {saved}" in one
        for one in evidence.notes
    )


def test_what_a_run_writes_in_its_copy_of_the_project_is_gone_for_the_next(tmp_path: Path) -> None:
    evidence = verify_program(tmp_path / "project", RESUMES.replace("PLACE", '"w.npy"'))
    assert evidence.verdict is Verdict.EQUAL
    assert not any("outside" in one for one in evidence.notes)
