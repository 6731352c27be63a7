"""The environment of a run: the user's own, with simulated devices, led into the copy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.verify import environment as env
from jaxmigrate.verify.child import flags
from jaxmigrate.verify.model import VerifyError, VerifyRequest


@pytest.fixture
def places(tmp_path: Path) -> env.Places:
    root, copy = tmp_path / "project", tmp_path / "scratch" / "project"
    for name in ("data/x.csv", ".git/HEAD"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (copy / "data").mkdir(parents=True)
    (copy / "data/x.csv").write_text("")
    return env.Places(root, copy, tmp_path / "boot", tmp_path / "config", tmp_path / "tmp")


def variables(places: env.Places, monkeypatch: pytest.MonkeyPatch, python: str = "", **given: str) -> dict[str, str]:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    request: dict[str, Any] = {"command": ("python",), "original": {}, "migrated": {}, "sites": ()}
    return env.child_environment(VerifyRequest(root=places.root, devices=4, **request), places, python)


def test_user_flags_are_kept_and_the_device_count_is_ours(places: env.Places, monkeypatch: pytest.MonkeyPatch) -> None:
    given = "--xla_cpu_enable_fast_math=false --xla_force_host_platform_device_count=2"
    found = variables(places, monkeypatch, XLA_FLAGS=given, JAX_NUM_CPU_DEVICES="3", JAX_ENABLE_X64="1")
    assert found["XLA_FLAGS"] == "--xla_cpu_enable_fast_math=false --xla_force_host_platform_device_count=4"
    assert (found["JAX_PLATFORMS"], found["NPROC"], found["PYTHONHASHSEED"]) == ("cpu", "64", "0")
    assert found["JAX_ENABLE_X64"] == "1"
    assert "JAX_NUM_CPU_DEVICES" not in found


def test_a_gpu_may_be_shared_with_other_programs(places: env.Places, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_PYTHON_CLIENT_MEM_FRACTION": ".2"}
    assert variables(places, monkeypatch, **given).items() >= given.items()


def test_variables_lead_into_the_copy(places: env.Places, monkeypatch: pytest.MonkeyPatch) -> None:
    bin_folder = f"{places.root}/bin"
    found = variables(
        places,
        monkeypatch,
        DATA=f"{places.root}/data",
        PYTHONPATH=f"{places.root}/src",
        PATH=bin_folder,
        HOME="/home/me",
    )
    assert found["DATA"] == f"{places.copy}/data"
    assert found["PYTHONPATH"].split(os.pathsep) == [str(places.boot), f"{places.copy}/src"]
    assert found["PATH"] == bin_folder
    assert found["PWD"] == str(places.copy)


def test_other_interpreter_comes_first(places: env.Places, monkeypatch: pytest.MonkeyPatch) -> None:
    found = variables(places, monkeypatch, python="/opt/old/bin/python3", PATH="/usr/bin")
    assert found["PATH"].split(os.pathsep) == [f"{places.boot}/bin", "/opt/old/bin", "/usr/bin"]


@pytest.mark.parametrize(
    ("argument", "led"),
    [
        ("{root}/data/x.csv", "{copy}/data/x.csv"),
        ("--data={root}/data", "--data={copy}/data"),
        ("--pair={root}/a:{root}/b", "--pair={copy}/a:{copy}/b"),
        ("{root}", "{copy}"),
        ("{root}/.git/HEAD", "{root}/.git/HEAD"),
        ("{root}2/data", "{root}2/data"),
        ("/prefix{root}/data", "/prefix{root}/data"),
        ("data/x.csv", "data/x.csv"),
        ("../other.txt", "{above}/other.txt"),
        ("../missing.txt", "../missing.txt"),
        ("../project/data", "../project/data"),
    ],
)
def test_arguments_lead_into_the_copy(places: env.Places, argument: str, led: str) -> None:
    (places.root.parent / "other.txt").write_text("")
    names = {"root": places.root, "copy": places.copy, "above": places.root.parent}
    command = (argument.format(**names),)
    assert env.led_into_copy(command, places.root, places) == [led.format(**names)]


def test_command_is_looked_up_as_a_shell_does(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "tool"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert env.executable(["tool"], {"PATH": f"/nowhere:{tmp_path}/bin"}, tmp_path) == str(script)
    assert env.executable(["bin/tool"], {"PATH": ""}, tmp_path) == str(script)
    with pytest.raises(VerifyError, match="no such command"):
        env.executable(["tool"], {"PATH": "/nowhere"}, tmp_path)


class TestFlags:
    def test_only_flags_that_the_library_knows_are_set(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        library = tmp_path / "libjax_common.so"
        library.write_bytes(b"\0xla_cpu_known\0")
        monkeypatch.setattr(flags, "_library", lambda: str(library))
        monkeypatch.setenv("XLA_FLAGS", "--mine=1")
        flags.extend(["--xla_cpu_known=5", "--xla_cpu_unknown=5"], str(tmp_path / "cache"))
        assert os.environ["XLA_FLAGS"] == "--mine=1 --xla_cpu_known=5"

    @pytest.mark.parametrize(
        ("known", "given", "found"),
        [
            ("level isa", "", "--level=1 --isa=AVX"),
            ("level", "", "--level=0"),
            ("level isa", "--isa=X", "--isa=X --level=0"),
        ],
    )
    def test_flags_that_belong_together(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: str, given: str, found: str
    ) -> None:
        library = tmp_path / "libjax_common.so"
        library.write_bytes(known.encode())
        monkeypatch.setattr(flags, "_library", lambda: str(library))
        monkeypatch.setattr(flags, "_WANTED", [])
        monkeypatch.setenv("XLA_FLAGS", given)
        flags.extend(["--level=1 --isa=AVX", "--level=0"], str(tmp_path / "cache"))
        assert os.environ["XLA_FLAGS"] == found

    def test_answer_is_remembered(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        library = tmp_path / "libjax_common.so"
        library.write_bytes(b"\0xla_cpu_known\0")
        monkeypatch.setattr(flags, "_library", lambda: str(library))
        monkeypatch.setenv("XLA_FLAGS", "")
        flags.extend(["--xla_cpu_known=5"], str(tmp_path / "cache"))
        library.unlink()
        monkeypatch.setenv("XLA_FLAGS", "")
        flags.extend(["--xla_cpu_known=5"], str(tmp_path / "cache"))
        assert os.environ["XLA_FLAGS"] == "--xla_cpu_known=5"

    def test_flag_that_the_user_sets_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        library = tmp_path / "libjax_common.so"
        library.write_bytes(b"\0xla_cpu_known\0")
        monkeypatch.setattr(flags, "_library", lambda: str(library))
        monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_known=9")
        flags.extend(["--xla_cpu_known=5"], str(tmp_path / "cache"))
        assert os.environ["XLA_FLAGS"] == "--xla_cpu_known=9"
