"""`--platform gpu`: what is asked of the machine, and what is said where it has no GPUs or too few."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.verify import environment as env
from jaxmigrate.verify.gpus import interpreter, on_gpus
from jaxmigrate.verify.model import GPU, VerifyError, VerifyRequest
from jaxmigrate.verify.run import verify


def python_that(tmp_path: Path, answer: str) -> str:
    """An interpreter that answers whatever it is asked in the same way."""
    script = tmp_path / "python3"
    script.write_text(f"#!/bin/sh\n{answer}\n")
    script.chmod(0o755)
    return str(script)


def request(tmp_path: Path, python: str, **given: Any) -> VerifyRequest:
    command = {"command": (python, "program.py"), "original": {}, "migrated": {}, "sites": (), "platform": GPU}
    return VerifyRequest(**{"root": tmp_path, "devices": 0, **command, **given})


def test_all_gpus_are_used_unless_fewer_are_asked_for(tmp_path: Path) -> None:
    python = python_that(tmp_path, "echo gpus 4")
    everything = on_gpus(request(tmp_path, python))
    assert (everything.devices, dict(everything.environment)) == (4, {})
    two = on_gpus(request(tmp_path, python, devices=2, environment={"A": "b"}))
    assert two.devices == 2
    assert two.environment == {"CUDA_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0,1", "A": "b"}


@pytest.mark.parametrize(
    ("answer", "given", "says"),
    [
        ("echo gpus 2", {"devices": 8}, "there are 2 GPUs for .*, not the 8 asked for"),
        ("echo 'RuntimeError: Unknown backend gpu' >&2; exit 1", {}, "sees no GPU: RuntimeError: Unknown backend gpu"),
        ("echo gpus 2", {"processes": 2}, "leave out --processes"),
        ("true", {}, "sees no GPU; without --platform gpu, devices are simulated on the CPU"),
    ],
)
def test_too_few_gpus_are_told(tmp_path: Path, answer: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(VerifyError, match=says):
        verify(request(tmp_path, python_that(tmp_path, answer), **given))


def test_the_original_needs_gpus_too(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old = python_that(tmp_path / "old", "exit 1")
    with pytest.raises(VerifyError, match="/old/python3 sees no GPU"):
        on_gpus(request(tmp_path, python_that(tmp_path, "echo gpus 2"), original_python=old))


def test_the_interpreter_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = python_that(tmp_path, "true")
    assert interpreter((python, "-m", "train")) == python
    (tmp_path / "python").symlink_to(python)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert interpreter(("pytest", "tests")) == str(tmp_path / "python")
    monkeypatch.setenv("PATH", os.devnull)
    assert interpreter(("pytest", "tests")) == sys.executable


def test_devices_are_not_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    places = env.Places(tmp_path, tmp_path, tmp_path, tmp_path, tmp_path)
    found = env.child_environment(request(tmp_path, "python", devices=2), places, "")
    assert "JAX_PLATFORMS" not in found
    assert found["XLA_FLAGS"] == "--xla_dump_to=x"


def test_the_command_line_tells_that_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("import jax\nstep = jax.pmap(lambda x: x)\n")
    python = python_that(tmp_path, "exit 3")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    assert main(["verify", "train.py", "--platform", "gpu", "--", python, "train.py"]) == 2
    assert "sees no GPU; without --platform gpu" in capsys.readouterr().err
