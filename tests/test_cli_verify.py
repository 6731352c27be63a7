"""`verify` and `fix --verify`: what is run, where, against what, and what may then be written."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.commands import Failure, verification
from jaxmigrate.commands.progress import line
from jaxmigrate.commands.scope import project_root
from jaxmigrate.verify.model import (
    Coverage,
    Evidence,
    Progress,
    RunSummary,
    SiteEvidence,
    Verdict,
    VerifyError,
    VerifyRequest,
)

TRAIN = """\
import jax
import jax.numpy as jnp

import tools

step = jax.pmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i")
rows = jnp.arange(float(jax.device_count()))
print(tools.double(step(rows)).sum())
"""
TOOLS = """\
import jax

double = jax.pmap(lambda x: 2 * x)
"""
UNREACHED = """\
import jax

unused = jax.pmap(lambda x: 3 * x)
"""
COMMAND = ["--", sys.executable, "train.py"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


Judge = Callable[[VerifyRequest, int], Evidence]


def evidence(request: VerifyRequest, verdicts: dict[str, Verdict]) -> Evidence:
    """Evidence with a verdict for each file that is named, and equality for the others."""
    sites = tuple(SiteEvidence(s, verdicts.get(s.path, Verdict.EQUAL), "told") for s in request.sites)
    gravest = max((site.verdict for site in sites), key=lambda verdict: verdict.severity, default=Verdict.EQUAL)
    coverage = Coverage(len(sites), len(sites), len(sites), 0)
    return Evidence(
        gravest, "as judged", sites, (), coverage, request.command, request.cwd, request.devices, 1, {}, {}, 0.0
    )


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[VerifyRequest]:
    """The requests that were made; tools.py is found to differ for as long as it is rewritten."""
    made: list[VerifyRequest] = []

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        made.append(request)
        return evidence(request, {"tools.py": Verdict.DIFFERENT})

    monkeypatch.setattr(verification, "verify", judged)
    return made


def test_only_files_that_verified_are_written(
    program: Path, requests: list[VerifyRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fix", ".", "--report", "r.json", "--verify", *COMMAND]) == 1
    assert (program / "tools.py").read_text() == TOOLS
    assert "shard_map" in (program / "train.py").read_text()
    out = capsys.readouterr().out
    assert "tools.py:3:10 JM490 was not rewritten, because" in out
    assert "2 sites in 2 files: 1 rewritten, 1 left" in out
    document = json.loads((program / "r.json").read_text())
    assert {file["path"]: file["outcome"] for file in document["files"]} == {
        "tools.py": "withheld",
        "train.py": "written",
    }
    assert document["verification"]["verdict"] == "bitwise equal"


def test_what_is_written_was_verified_without_what_is_not(program: Path, requests: list[VerifyRequest]) -> None:
    main(["fix", ".", "--verify", *COMMAND])
    first, second = requests
    assert first.migrated["tools.py"] != first.original["tools.py"]
    assert second.migrated["tools.py"] == second.original["tools.py"]
    assert "sharding" in first.migrated["train.py"].decode()
    assert second.migrated["train.py"] != first.original["train.py"]  # with what tools.py shared before
    assert [site.path for site in first.sites] == ["tools.py", "train.py"]
    assert [site.path for site in second.sites] == ["train.py"]


def test_nothing_is_written_where_the_fault_is_elsewhere(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failed(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        found = evidence(request, {})
        return dataclasses.replace(found, verdict=Verdict.FAILED, message="the original crashed", sites=())

    monkeypatch.setattr(verification, "verify", failed)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    assert ((program / "train.py").read_text(), (program / "tools.py").read_text()) == (TRAIN, TOOLS)
    assert (
        capsys.readouterr().out.count("JM490 was not rewritten, because the verification failed: the original crashed")
        == 2
    )


NORMALISE = """\
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="i")
def normalise(tree):
    total = sum(jnp.sum(x**2) for x in jax.tree.leaves(tree))
    return jax.tree.map(lambda x: jax.lax.pmean(x / total, "i"), tree)
"""
USER = """\
import jax
from flax import jax_utils

import norm

state = norm.normalise(jax_utils.replicate({"w": 3.0}))
print(jax_utils.unreplicate(state))
"""


def test_arrays_stay_stacked_where_a_file_that_shares_them_was_not_reached(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # With other.py as it is, which still stacks, norm.py must not take 8 copies for one array.
    files = {"norm.py": NORMALISE, "train.py": USER, "other.py": USER + 'double = jax.pmap(lambda x: 2 * x, "i")\n'}
    for name, text in files.items():
        (program / name).write_text(text)

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        return evidence(request, {"other.py": Verdict.NOT_EXERCISED})

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    assert {name: (program / name).read_text() for name in ("train.py", "other.py")} == {
        "train.py": USER,
        "other.py": files["other.py"],
    }
    assert "shard_map" in (program / "tools.py").read_text()
    out = capsys.readouterr().out
    assert "norm.py: rewrote 1 site\n  line 7: all stacked" in out
    assert "other.py:8:10 JM490 was not rewritten, because its verification failed: not exercised" in out


def test_a_file_that_cannot_be_written_holds_those_that_share_its_arrays(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"norm.py": NORMALISE, "train.py": USER, "other.py": USER}
    for name, text in files.items():
        (program / name).write_text(text)
    (program / "other.py").chmod(0o444)
    assert main(["fix", "."]) == 2
    assert {name: (program / name).read_text() for name in files} == files
    assert "shard_map" in (program / "tools.py").read_text()
    out, err = capsys.readouterr()
    assert "norm.py:7:2 JM490 was not rewritten, because other.py was not, with which it shares arrays" in out
    assert "other.py: is read-only" in err


def test_each_site_tells_its_own_reason(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program / "train.py").write_text(TRAIN + "other = jax.pmap(lambda x: -x)\n")

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        found = evidence(request, {"train.py": Verdict.DIFFERENT})
        sites = [dataclasses.replace(s, verdict=Verdict.EQUAL) if s.site.line == 9 else s for s in found.sites]
        gravest = max((one.verdict for one in sites), key=lambda verdict: verdict.severity)
        return dataclasses.replace(found, verdict=gravest, sites=tuple(sites))

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    out = capsys.readouterr().out
    assert "train.py:6:8 JM490 was not rewritten, because its verification failed: different: told\n" in out
    assert "train.py: rewrote 1 site\n" in out
    assert "tools.py: rewrote 1 site" in out


def test_the_largest_part_that_verifies_is_written(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "other = jax.pmap(lambda x: -x)\nunused = jax.pmap(lambda x: 4 * x)\n"
    (program / "train.py").write_text(TRAIN + more)
    made: list[VerifyRequest] = []

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        made.append(request)
        found = evidence(request, {})
        verdicts = {10: Verdict.NOT_EXERCISED, 9: Verdict.DIFFERENT}
        sites = [dataclasses.replace(one, verdict=verdicts.get(one.site.line, one.verdict)) for one in found.sites]
        gravest = max((one.verdict for one in sites), key=lambda verdict: verdict.severity)
        return dataclasses.replace(found, verdict=gravest, sites=tuple(sites))

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    assert len(made) == 2
    assert made[0].original == made[1].original
    text = (program / "train.py").read_text()
    assert text.count("jax.pmap(") == 2
    assert "shard_map" in text
    out = capsys.readouterr().out
    assert "3 sites" not in out
    assert "4 sites in 2 files: 2 rewritten, 2 left" in out


def test_another_try_is_told_only_where_something_is_left_to_try(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        found = evidence(request, {})
        sites = tuple(dataclasses.replace(one, verdict=Verdict.DIFFERENT) for one in found.sites)
        return dataclasses.replace(found, verdict=Verdict.DIFFERENT, sites=sites)

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    told = capsys.readouterr()
    assert "trying again" not in told.err
    assert "verification: different: " in told.out


def test_halves_are_tried_where_no_site_is_to_blame(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        found = evidence(request, {})
        wrong = b"shard_map" in request.migrated["tools.py"]
        verdict = Verdict.DIFFERENT if wrong else Verdict.EQUAL
        return dataclasses.replace(found, verdict=verdict, outputs=("other",) * wrong)

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    assert (program / "tools.py").read_text() == TOOLS
    assert "shard_map" in (program / "train.py").read_text()
    assert (
        "tools.py:3:10 JM490 agrees when rewritten alone, but not together with other sites" in capsys.readouterr().out
    )


def blaming_nothing(at: str) -> Callable[..., Evidence]:
    """Judges that what is printed differs as long as a text stands in the rewritten train.py, and blames no site."""

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        wrong = at.encode() not in request.migrated["train.py"]
        verdict = Verdict.DIFFERENT if wrong else Verdict.EQUAL
        return dataclasses.replace(evidence(request, {}), verdict=verdict, outputs=("other",) * wrong)

    return judged


def test_no_more_is_left_than_what_is_to_blame(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (program / f"{name}.py").write_text(TOOLS)
    (program / "train.py").write_text(TRAIN + "other = jax.pmap(lambda x: -x)\n")
    monkeypatch.setattr(verification, "verify", blaming_nothing("jax.pmap)(lambda x: -x)"))
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    out, err = capsys.readouterr()
    assert err.count("verifying ") <= 6
    assert err.count("trying again with ") == err.count("verifying ") - 1
    assert [(program / f"{name}.py").read_text() != TOOLS for name in ("one", "two", "tools")] == [True] * 3
    assert "5 sites in 4 files: 4 rewritten, 1 left" in out


def test_old_names_are_replaced_where_no_site_verifies(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program / "tools.py").write_text("import jax\n\ndouble = jax.tree_map(lambda x: 2 * x, {})\n")
    monkeypatch.setattr(verification, "verify", blaming_nothing("jax.pmap)("))
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    assert "jax.tree.map" in (program / "tools.py").read_text()
    assert (program / "train.py").read_text() == TRAIN
    assert "1 site in 1 file: 0 rewritten, 1 left; 1 old name: 1 replaced, 0 left" in capsys.readouterr().out


def test_a_reason_of_many_places_is_told_once(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "import jax\n\none = jax.tree_map(abs, 1)\n" + "two = jax.tree_map(abs, 1), jax.tree_map(abs, 2)\n" * 2
    (program / "names.py").write_text(names)

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        site = evidence(request, {"tools.py": Verdict.DIFFERENT})
        return dataclasses.replace(site, verdict=Verdict.DIFFERENT, outputs=("other",))

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    assert (program / "names.py").read_text() == names
    out = capsys.readouterr().out
    assert out.count("names.py") == 2, out
    assert "  likewise 5 more places: names.py:4,5 train.py:6" in out


def exited(request: VerifyRequest, message: str) -> Evidence:
    """Evidence of an original that ended with an error."""
    run = RunSummary("original", 1, "exited", message, 1, "", 1.0, 0, 0, None)
    found = evidence(request, dict.fromkeys(["train.py", "tools.py"], Verdict.FAILED))
    return dataclasses.replace(found, message=message, runs=(run,))


def test_an_original_that_does_not_run_is_told_of_once_and_run_once(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program / "names.py").write_text("import jax\n\ndouble = jax.tree_map(lambda x: 2 * x, {})\n")
    made: list[VerifyRequest] = []

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        made.append(request)
        return exited(request, "exited with status 1: KeyError: 'HOME'")

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    out = capsys.readouterr().out
    assert len(made) == 1
    assert out.count("HOME") == 1
    assert out.count("JM490 was not rewritten, because the original program does not run") == 3


def test_an_original_that_lacks_a_name_runs_again_with_its_old_names_replaced(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program / "train.py").write_text(TRAIN + "jax.tree_map(print, rows)\n")
    made: list[VerifyRequest] = []

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        made.append(request)
        if b"tree_map" in request.original["train.py"]:
            return exited(request, "the original exited with status 1: AttributeError: jax.tree_map was removed.")
        return evidence(request, {"tools.py": Verdict.DIFFERENT} if len(made) == 2 else {})

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--verify", *COMMAND]) == 1
    first, second, third = made
    assert second.original["train.py"] == first.original["train.py"].replace(b"tree_map", b"tree.map")
    assert b"__jaxmigrate_transform__('train.py:6:8', jax.pmap)(" in second.original["train.py"]
    assert second.migrated == first.migrated
    assert third.original == second.original
    out = capsys.readouterr().out
    assert "note: the original does not run on this JAX" in out
    assert "1 rewritten, 1 left; 1 old name: 1 replaced, 0 left" in out


def test_an_original_of_an_older_jax_is_run_by_its_own_python(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program / "train.py").write_text(TRAIN + "jax.tree_map(print, rows)\n")
    made: list[VerifyRequest] = []

    def judged(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        made.append(request)
        return exited(request, "the original exited with status 1: AttributeError: jax.tree_map was removed.")

    monkeypatch.setattr(verification, "verify", judged)
    assert main(["fix", ".", "--original-python", "/py", "--verify", *COMMAND]) == 1
    assert [request.original_python for request in made] == ["/py"]


def test_nothing_is_run_where_nothing_changes(program: Path, requests: list[VerifyRequest]) -> None:
    for file in program.iterdir():
        file.write_text("x = 1\n")
    assert main(["fix", ".", "--verify", *COMMAND]) == 0
    assert requests == []


def test_a_verification_that_cannot_be_carried_out_writes_nothing(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def impossible(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        raise VerifyError("nonesuch: no such command on the PATH")

    monkeypatch.setattr(verification, "verify", impossible)
    assert main(["fix", ".", "--verify", "--", "nonesuch"]) == 2
    assert "jaxmigrate: error: nonesuch: no such command" in capsys.readouterr().err
    assert (program / "train.py").read_text() == TRAIN


def test_the_request_follows_options_then_configuration(program: Path, requests: list[VerifyRequest]) -> None:
    table = '[tool.jaxmigrate.verify]\ncommand = "python -m configured"\ndevices = 4\ntimeout = 60\n'
    (program / "pyproject.toml").write_text(table)
    main(["verify", "."])
    main(["verify", ".", "--devices", "2", "--timeout", "7", "--twice", "--original-python", "/py", *COMMAND])
    main(["verify", "train.py"])
    configured, given, alone = requests
    assert (configured.command, configured.devices, configured.timeout, configured.twice) == (
        ("python", "-m", "configured"), 4, 60.0, False
    )  # fmt: skip
    assert (given.command, given.devices, given.timeout, given.twice) == (tuple(COMMAND[1:]), 2, 7.0, True)
    assert given.original_python == "/py"
    assert (given.root, given.cwd) == (program, ".")
    assert set(alone.original) == {"train.py"}


def test_reports_name_every_site_in_every_format(program: Path, requests: list[VerifyRequest]) -> None:
    names = [f"out/report.{ending}" for ending in ("json", "xml", "md", "html")]
    assert main(["verify", ".", *(part for name in names for part in ("--report", name)), *COMMAND]) == 1
    for name in names:
        told = (program / name).read_text()
        assert "train.py" in told
        assert "tools.py" in told
        assert "different" in told
    assert json.loads((program / names[0]).read_text())


COMMANDS = """
[tool.jaxmigrate.verify]
devices = 4
environment = { A = "1" }
commands.train = { command = "python train.py", timeout = 60, processes = 2 }

[tool.jaxmigrate.verify.commands.tests]
command = ["pytest", "-k", "a b"]
environment = { B = "2" }
"""


def test_named_commands_are_all_run_or_those_that_are_chosen(
    program: Path, requests: list[VerifyRequest], capsys: pytest.CaptureFixture[str]
) -> None:
    (program / "pyproject.toml").write_text(COMMANDS)
    main(["verify", ".", "--report", "r.json"])
    main(["verify", ".", "--run", "tests", "--devices", "2"])
    train, tests, chosen = requests
    assert (train.command, train.devices, train.timeout, train.processes) == (("python", "train.py"), 4, 60.0, 2)
    assert (tests.command, tests.devices, tests.processes) == (("pytest", "-k", "a b"), 4, 1)
    assert (train.environment, tests.environment) == ({"A": "1"}, {"B": "2"})
    assert (chosen.command, chosen.devices) == (tests.command, 2)
    parts = json.loads((program / "r.json").read_text())["verification"]["parts"]
    assert [(part["name"], part["processes"]) for part in parts] == [("train", 1), ("tests", 1)]
    assert main(["verify", ".", "--run", "nonesuch"]) == 2
    assert "no command is called 'nonesuch'" in capsys.readouterr().err


def test_without_a_command_nothing_can_be_run(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "."]) == 2
    assert "give the program's command behind `--`" in capsys.readouterr().err
    assert main(["fix", ".", "--verify", "--"]) == 2
    (program / "cells.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    capsys.readouterr()
    assert main(["verify", "."]) == 2
    assert capsys.readouterr().err.endswith("; or name cells.ipynb, whose cells then run\n")


def test_a_migrated_program_needs_its_original(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "."]) == 0
    assert main(["verify", ".", *COMMAND]) == 2
    assert "give the version before with --original" in capsys.readouterr().err


def commit(folder: Path) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "as it was"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


@pytest.mark.parametrize("kind", ["folder", "revision"])
@pytest.mark.parametrize("path", [".", "train.py"])
def test_the_original_may_be_elsewhere(
    program: Path, tmp_path_factory: pytest.TempPathFactory, requests: list[VerifyRequest], kind: str, path: str
) -> None:
    original = "HEAD"
    if kind == "folder":
        folder = tmp_path_factory.mktemp("original")
        for name, text in (("train.py", TRAIN), ("tools.py", TOOLS)):
            (folder / name).write_text(text)
        original = str(folder if path == "." else folder / path)
    else:
        commit(program)
    assert main(["fix", "."]) == 0
    main(["verify", path, "--original", original, *COMMAND])
    (request,) = requests
    assert b"jax.pmap" in request.original["train.py"]
    assert not request.by_hand
    assert b"jax.pmap" not in request.migrated["train.py"]
    shared = {"sharding.py"} & set(request.migrated)
    assert set(request.migrated) == ({"train.py", "tools.py", *shared} if path == "." else {"train.py"})


def test_originals_that_cannot_be_used_are_refused(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(program)
    main(["fix", "."])
    assert main(["verify", ".", "--original", "v9", *COMMAND]) == 2
    assert "neither a folder nor a" in capsys.readouterr().err
    (program / "empty").mkdir()
    assert main(["verify", ".", "--original", "empty", *COMMAND]) == 2
    assert "empty has none of the files" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["folder", "revision"])
def test_migrations_made_by_hand_are_compared_without_marks(
    program: Path,
    tmp_path_factory: pytest.TempPathFactory,
    requests: list[VerifyRequest],
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    (program / "settings.json").write_text("{}")
    (program / "old.py").write_text(TOOLS)
    original = "HEAD"
    if kind == "revision":
        commit(program)
    else:
        original = str(tmp_path_factory.mktemp("original"))
        shutil.copytree(program, original, dirs_exist_ok=True)
    main(["fix", "train.py"])
    by_hand = (program / "train.py").read_text() + "# by hand\n"
    (program / "train.py").write_text(by_hand)
    (program / "settings.json").write_text("{1: 2}")
    (program / "old.py").unlink()
    main(["verify", ".", "--original", original, "--report", "r.json", *COMMAND])
    (request,) = requests
    assert request.by_hand
    assert request.migrated == {}
    assert {*request.original} == {"train.py", "tools.py", "old.py", "settings.json"}
    assert b"__jaxmigrate_transform__" in request.original["train.py"]
    assert request.original["settings.json"] == b"{}"
    assert sorted(site.path for site in request.sites) == ["old.py", "tools.py", "train.py"]
    (diff,) = (
        file["diff"] for file in json.loads((program / "r.json").read_text())["files"] if "train" in file["path"]
    )
    assert "+# by hand" in diff


def test_an_original_without_pmap_says_nothing(
    program: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path_factory.mktemp("original")
    (folder / "train.py").write_text("print(1)\n")
    assert main(["verify", ".", "--original", str(folder), *COMMAND]) == 2
    assert "there is no pmap, shard_map or jit in" in capsys.readouterr().err


class TestProjectRoot:
    def test_the_nearest_project_that_holds_the_current_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "src" / "pkg").mkdir(parents=True)
        (tmp_path / "pyproject.toml").touch()
        for here in (tmp_path, tmp_path / "src", tmp_path / "src" / "pkg"):
            monkeypatch.chdir(here)
            assert project_root([tmp_path / "src" / "pkg"]) == tmp_path

    def test_the_current_folder_where_it_holds_the_project(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "one" / "setup.py").touch()
        (tmp_path / "a.py").touch()
        monkeypatch.chdir(tmp_path)
        assert project_root([Path("one")]) == tmp_path
        assert project_root([Path("a.py")]) == tmp_path

    def test_links_are_seen_through(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        monkeypatch.chdir(tmp_path / "real")
        assert project_root([tmp_path / "link"]) == tmp_path / "real"

    def test_a_folder_that_is_named_holds_data_besides(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requests: list[VerifyRequest]
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "work" / "code").mkdir(parents=True)
        (tmp_path / "work" / "code" / "train.py").write_text("import jax\n\nf = jax.pmap(lambda x: x)\n")
        monkeypatch.chdir(tmp_path / "work" / "code")
        main(["verify", "..", *COMMAND])
        main(["fix", "..", "--verify", "--diff", *COMMAND])
        monkeypatch.chdir(tmp_path / "work")
        main(["fix", "..", "--verify", "--diff", *COMMAND])
        assert [one.root for one in requests] == [tmp_path / "work", tmp_path / "work", tmp_path / "work"]

    def test_commands_that_would_run_elsewhere_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / "one")
        with pytest.raises(Failure, match="change into the project first"):
            project_root([tmp_path / "two"])
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        with pytest.raises(Failure, match="too large to be copied for a run"):
            project_root([tmp_path / "two"])


@pytest.mark.parametrize(
    ("progress", "shown"),
    [
        (Progress("copying", "original"), "copying original"),
        (Progress("comparing"), "comparing"),
        (Progress("running", "original", 7, None, "a.py:3", 2.4), "running original: 7 mapped calls, 2.4 s a.py:3"),
        (Progress("running", "original", 1, None, "a.py:3:9", 2.4), "running original: 1 mapped call, 2.4 s a.py:3"),
        (Progress("ran", "original", 7, None, "", 2.4), "ran original: 7 mapped calls in 2.4 s"),
        (
            Progress("running", "rewritten", 6, 12, "", 10),
            "running rewritten [########--------] 6 of 12 mapped calls, 10.0 s",
        ),
        (Progress("running", "rewritten", 14, 10, "", 10), "running rewritten: 14 mapped calls, 10.0 s"),
    ],
)
def test_progress_in_one_line(progress: Progress, shown: str) -> None:
    assert line(progress) == shown


def test_a_real_program_that_only_an_older_jax_runs_is_verified(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = "import jax\n\nhalve = jax.pmap(lambda x: x / 2)\nx = jax.device_put_replicated(3.0, jax.local_devices())\n"
    (program / "train.py").write_text(old + "print(halve(x)[0])\n")
    (program / "tools.py").unlink()
    assert main(["fix", ".", "--devices", "2", "--verify", *COMMAND]) == 0
    out = capsys.readouterr().out
    assert "verification: bitwise equal" in out
    assert "note: the original does not run on this JAX" in out
    assert "device_put_replicated" not in (program / "train.py").read_text()


def test_a_real_program_is_verified_and_what_it_did_not_reach_is_withheld(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (program / "unreached.py").write_text(UNREACHED)
    assert main(["fix", ".", "--devices", "4", "--verify", *COMMAND]) == 1
    out = capsys.readouterr().out
    assert "unreached.py:3:10 JM490 was not rewritten, because" in out
    assert "not exercised" in out
    assert "verification: bitwise equal" in out
    assert (program / "unreached.py").read_text() == UNREACHED
    assert "shard_map" in (program / "train.py").read_text()
    assert "shard_map" in (program / "tools.py").read_text()


@pytest.fixture(scope="module")
def without_jax(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment of Python alone."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin"


@pytest.mark.parametrize("command", ["python", "script"])
def test_a_python_without_jax_is_named(
    command: str, without_jax: Path, program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "import jax\n\nprint(jax.pmap(lambda x: 2 * x)(jax.numpy.arange(8.0)))\n"
    (program / "train.py").write_text(text)
    (program / "script").write_text("#!/usr/bin/env python\nimport runpy\n\nrunpy.run_path('train.py')\n")
    (program / "script").chmod(0o755)
    monkeypatch.setenv("PATH", str(without_jax), prepend=os.pathsep)
    run = ["python", "train.py"] if command == "python" else ["./script"]
    assert main(["fix", "train.py", "--verify", "--", *run]) == 2
    python = without_jax / "python"
    told = capsys.readouterr().err
    assert f"COMMAND ran {python}, which has no jax: `{python} -m pip install 'jaxmigrate[verify]'`" in told
    assert f"or write {sys.executable}, which has it" in told
    assert (program / "train.py").read_text() == text


def test_the_other_python_without_jax_is_named(
    without_jax: Path, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (program / "train.py").write_text("import jax\n\nprint(jax.pmap(lambda x: 2 * x)(jax.numpy.arange(8.0)))\n")
    python = str(without_jax / "python")
    assert main(["verify", "train.py", "--original-python", python, "--", "python", "train.py"]) == 2
    assert f"COMMAND ran {python}, which has no jax" in capsys.readouterr().err


def test_an_interrupt_says_what_became_of_the_project(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(request: VerifyRequest, *_: object, **__: object) -> Evidence:
        raise KeyboardInterrupt

    monkeypatch.setattr(verification, "verify", interrupted)
    assert main(["fix", ".", "--verify", *COMMAND]) == 130
    assert "interrupted: the programs were ended" in capsys.readouterr().err
    assert (program / "train.py").read_text() == TRAIN


OLD_SHARD_MAP = """\
import jax
import numpy as np
from jax.experimental.shard_map import shard_map
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("i",))
total = jax.jit(shard_map(lambda x: jax.lax.psum(x, "i"), mesh, in_specs=P("i"), out_specs=P(), check_rep=False))
print(total(np.arange(16.0)))
"""


def test_a_program_of_old_shard_maps_alone_is_verified_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(OLD_SHARD_MAP)
    assert main(["verify", ".", *COMMAND]) == 0
    out = capsys.readouterr().out
    assert "1 of 1 sites exercised, 1 call compared: all bitwise equal" in out
    assert main(["fix", ".", "--verify", *COMMAND]) == 0
    assert "from jax import shard_map" in (tmp_path / "train.py").read_text()
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "train.py").write_text(OLD_SHARD_MAP)
    (tmp_path / "after").mkdir()
    (tmp_path / "after" / "train.py").write_text((tmp_path / "train.py").read_text().replace("psum", "pmean"))
    monkeypatch.chdir(tmp_path / "after")
    assert main(["verify", ".", "--original", "../before", *COMMAND]) == 1
    assert "is 1/8 of the original's" in capsys.readouterr().out


def test_sites_of_files_that_stay_need_not_be_reached(
    program: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path_factory.mktemp("before")
    for name, text in (("train.py", TRAIN), ("tools.py", TOOLS), ("more.py", UNREACHED)):
        (before / name).write_text(text)
        (program / name).write_text(text)
    mapped = 'jax.pmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i")'
    assert mapped in TRAIN
    (program / "train.py").write_text(TRAIN.replace(mapped, f"jax.jit({mapped})"))
    assert main(["verify", ".", "--original", str(before), *COMMAND]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 sites exercised" in out
    assert "not called, in files that did not change: 1 of the sites" in out
