"""Branches that no call in sight takes: what they do with arrays that become global changes as well, or is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.cli import main
from tests.layouts.running import Program, run
from tests.layouts.test_carried import plan

PROGRAM = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    return w - 0.125 * jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")


def saved(w, small=False, kind="all"):
    if small:
        return BRANCH
    elif kind == "none":
        return None
    return jax.device_get(jax_utils.unreplicate(w))


p_step = jax.pmap(step, axis_name="batch")
w = p_step(jax_utils.replicate(jnp.ones(3)), shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7))
RESULT = np.asarray(saved(w)).tolist()
"""


@pytest.mark.parametrize("branch", ["jax.tree.map(lambda x: x[0], w)", "w[0] + 1", "jax_utils.unreplicate(w)[1:]"])
def test_a_branch_that_is_not_taken_takes_the_first_slice_no_more(branch: str) -> None:
    text = PROGRAM.replace("BRANCH", branch)
    found = plan({"main.py": text})
    assert [one.layout for one in found.sites[0].arguments] == ["replicated", "split"]
    assert "[0]" not in found.files[0].after
    assert "unreplicate" not in found.files[0].after
    assert not found.files[0].untaken
    texts = {"before": text, "after": found.files[0].after}
    taken = run([Program(name, {"main.py": one.replace("small=False", "small=True")}) for name, one in texts.items()])
    assert not taken["after"]["error"]
    assert taken["before"]["result"] == taken["after"]["result"]


def test_what_a_branch_that_is_not_taken_needs_stacked_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROGRAM.replace("BRANCH", "jnp.stack([w[0], np.sum(w, axis=0)])")
    found = plan({"main.py": text})
    assert [one.layout for one in found.sites[0].arguments] == ["replicated", "split"]
    line = text.splitlines().index("        return jnp.stack([w[0], np.sum(w, axis=0)])") + 1
    assert found.files[0].untaken == (line,)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(text)
    assert main(["fix", "a.py", "--diff"]) == 0
    assert f"a.py:{line}: no call in sight takes this branch" in " ".join(capsys.readouterr().err.split())
