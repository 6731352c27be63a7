"""A program that is written for several processes is verified with two, after it agreed with one."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.commands import verification
from jaxmigrate.verify.model import ORIGINAL, Coverage, Evidence, RunSummary, SiteEvidence, Verdict, VerifyRequest

BEFORE = """\
import jax
import numpy as np

n = jax.local_device_count()
rng = np.random.RandomState(jax.process_index())
step = jax.pmap(lambda x: jax.lax.pmean((x**2).sum(), "i"), axis_name="i")
for _ in range(2):
    loss = step(rng.randn(n, 2, 3).astype("f"))
print(loss[0])
"""
AFTER = """\
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

n = jax.local_device_count()
rng = np.random.RandomState(jax.process_index())
mesh = Mesh(jax.devices(), ("i",))
split = NamedSharding(mesh, P("i"))


def mean(x):
    return jax.lax.pmean((x**2).sum(), "i")


step = jax.jit(jax.shard_map(mean, mesh=mesh, in_specs=P("i"), out_specs=P(), check_vma=False))
for _ in range(2):
    loss = step(jax.make_array_from_process_local_data(split, rng.randn(n * 2, 3).astype("f")))
print(loss)
"""
# With one process the same: the local rows are all rows.
RESEEDED = ("RandomState(jax.process_index())", "RandomState(0)")
COMMAND = ["--", sys.executable, "main.py"]


def verify(folder: Path, patch: pytest.MonkeyPatch, before: str, after: str) -> tuple[int, dict[str, Any]]:
    for name, text in (("before", before), ("after", after)):
        (folder / name).mkdir()
        (folder / name / "main.py").write_text(text)
    report = folder / "report.json"
    patch.chdir(folder / "after")
    status = main(["verify", ".", "--original", "../before", "--report", str(report), "--devices", "4", *COMMAND])
    return status, json.loads(report.read_text())["verification"]


def test_a_right_migration_agrees_with_one_and_with_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, found = verify(tmp_path, monkeypatch, BEFORE, AFTER)
    assert (status, found["verdict"]) == (0, "bitwise equal")
    assert found["message"] == (
        "1 of 1 sites exercised, with one process and with two, 6 calls compared: all bitwise equal"
    )
    assert [(part["name"], part["processes"], part["devices"]) for part in found["parts"]] == [
        ("1 process", 1, 4),
        ("2 processes", 2, 2),
    ]
    assert [run["files"] for run in found["runs"]] == [["main.py"]] * 4


def test_what_is_wrong_with_two_processes_alone_is_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, found = verify(tmp_path, monkeypatch, BEFORE, AFTER.replace(*RESEEDED))
    assert (status, found["verdict"]) == (1, "different")
    assert found["sites"][0]["message"].startswith("2 processes: call 0, result (replicated): 2 of 2 numbers differ")
    assert [part["verdict"] for part in found["parts"]] == ["bitwise equal", "different"]


@pytest.mark.long
def test_an_original_that_does_not_run_with_two_says_nothing_of_its_rewrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = "assert jax.process_count() == 1, 'one host only'\n"
    status, found = verify(tmp_path, monkeypatch, BEFORE + alone, AFTER.replace(*RESEEDED) + alone)
    assert (status, found["verdict"]) == (0, "bitwise equal")
    (note,) = [note for note in found["notes"] if "process" in note]
    assert note.startswith("verified with one process only: the original does not run with two (")
    assert "one host only" in note


Runs = list[VerifyRequest]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    """The requests that were made; each finds equality, and that the original loaded main.py."""
    made: Runs = []

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        made.append(request)
        run = RunSummary(ORIGINAL, 1, "finished", "", 0, "", 1.0, 1, 0, 8, files=("main.py",))
        sites = tuple(SiteEvidence(site, Verdict.EQUAL, calls=1) for site in request.sites)
        told = (request.command, request.cwd, request.devices, request.processes)
        return Evidence(Verdict.EQUAL, "", sites, (run,), Coverage(1, 1, 1, 0), *told, {}, {}, 1.0)

    monkeypatch.setattr(verification, "verify", judged)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(BEFORE)
    return made


@pytest.mark.parametrize(
    ("options", "text", "asked"),
    [
        ((), BEFORE, [(1, 8), (2, 4)]),
        (("--processes", "1"), BEFORE, [(1, 8)]),
        (("--processes", "2"), BEFORE, [(2, 8)]),
        (("--devices", "3"), BEFORE, [(1, 3)]),
        ((), "import jax\np = jax.pmap(lambda x: x)\n# how many processes there are\n", [(1, 8)]),
    ],
    ids=["by default", "one", "two", "an odd number of devices", "no word of processes"],
)
def test_how_many_processes(
    runs: Runs, tmp_path: Path, options: tuple[str, ...], text: str, asked: list[tuple[int, int]]
) -> None:
    (tmp_path / "main.py").write_text(text)
    assert main(["verify", ".", *options, *COMMAND]) == 0
    assert [(request.processes, request.devices) for request in runs] == asked


def test_a_program_that_is_declared_to_be_one_process_runs_as_one(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.jaxmigrate]\nprocesses = 1\n")
    assert main(["verify", ".", *COMMAND]) == 0
    assert [request.processes for request in runs] == [1]
    assert main(["verify", ".", "--processes", "2", *COMMAND]) == 2
    assert len(runs) == 1
    assert "processes = 1, and this program runs as 2: take that out" in " ".join(capsys.readouterr().err.split())


def test_a_program_that_makes_itself_several_processes_is_not_one(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = vars(verification)["verify"]

    def in_three(*args: object, **named: object) -> Evidence:
        told: Evidence = judged(*args, **named)
        return replace(told, runs=tuple(replace(run, versions={"processes": "3"}) for run in told.runs))

    monkeypatch.setattr(verification, "verify", in_three)
    assert main(["verify", ".", "--processes", "1", *COMMAND]) == 0
    (tmp_path / "pyproject.toml").write_text("[tool.jaxmigrate]\nprocesses = 1\n")
    assert main(["verify", ".", *COMMAND]) == 2


def test_the_configuration_may_say_that_there_is_one(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.jaxmigrate.verify]\nprocesses = 1\n")
    assert main(["verify", ".", *COMMAND]) == 0
    assert [request.processes for request in runs] == [1]
