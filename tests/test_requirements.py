"""Which releases of JAX a project asks for, and what a rewrite needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.requirements import pins

PMAP = "import jax\n\nf = jax.pmap(lambda x: 2 * x)\n"


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("jax==0.2.17", "jax==0.2.17"),
        ("jaxlib==0.1.69", "jaxlib==0.1.69"),
        ("jax[cuda]==0.4.30  # for the cluster", "jax==0.4.30"),
        ("jax<0.5", "jax<0.5"),
        ("jax>=0.4.1,<0.6.1", "jax<0.6.1"),
        ("jax >= 0.3, <= 0.6.0", "jax<=0.6.0"),
        ("jax~=0.4.30", "jax~=0.4.30"),
        ("jax==0.4.*", "jax==0.4.*"),
    ],
)
def test_pins_that_leave_shard_map_out(tmp_path: Path, line: str, asked: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"numpy==1.2\n{line}\n")
    assert [*pins(tmp_path)] == [f"requirements.txt:2 asks for {asked}, but rewritten code needs jax 0.6.1 or newer"]


@pytest.mark.parametrize(
    "line",
    [
        "jax",
        "jax>=0.2.17",
        "jax==0.6.1",
        "jax<0.7",
        "jax~=0.4",
        "jax==0.*",
        "jax!=0.4.1",
        "# jax==0.2.17",
        "optax==0.1.0",
        "my-jax==0.1.0",
        "jax-tools==0.1.0",
        "jaxopt<0.5",
    ],
)
def test_what_lets_shard_map_in(tmp_path: Path, line: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"{line}\n")
    assert [*pins(tmp_path)] == []


def test_fix_and_status_tell_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = [\n    "jax>=0.3,<0.5",\n]\n')
    (tmp_path / "a.py").write_text(PMAP)
    told = "pyproject.toml:3 asks for jax<0.5, but rewritten code needs jax 0.6.1 or newer"
    assert main(["status"]) == 1
    assert told in " ".join(capsys.readouterr().out.split())
    assert main(["fix", "."]) == 0
    assert capsys.readouterr().err == f"note: {told}\n"
    assert main(["fix", "."]) == 0
    assert capsys.readouterr().err == ""
