"""`fix --observe`: what a run shows stands in for a proof where the rewrite verifies bitwise, and never silently."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.migrate import fix_files
from tests.observing.programs import ACCIDENT, GROUPS, TRAIN, lay_out

PLACE = re.compile(r"\(train\.py:\d+\)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def observe(*options: str, words: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    reports = [f"--report=r.{ending}" for ending in ("json", "md", "html", "xml")]
    status = main(["fix", "train.py", "--observe", *reports, *options, "--", sys.executable, "train.py", *words])
    return status, json.loads(Path("r.json").read_text())


def layouts(report: dict[str, Any]) -> dict[str, str]:
    [site] = report["sites"]
    arguments = {one["name"]: one["layout"] for one in site["arguments"]}
    return arguments | {f"-> {one['name']}": one["layout"] for one in site["outputs"]}


def test_what_comes_from_out_of_sight_is_observed_and_every_report_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(folder, TRAIN)
    status, report = observe("--require", "likely")
    told = capsys.readouterr()

    assert status == 1  # for CI that insists on more
    assert "--require likely is not met: part of the rewrite is only observed" in told.err
    assert layouts(report) == {"params": "replicated", "batch": "split", "-> 0": "replicated", "-> 1": "replicated"}
    assert report["summary"]["grade"] == "observed"
    assert report["verification"]["verdict"] == "bitwise equal"
    assert [one["grade"] for one in report["assumptions"]] == ["observed", "observed"]
    says = [one["says"] for one in report["assumptions"]]
    assert says == [
        "`library.create_state` gave the same slice for every device at all 3 calls on 8 devices",
        "`batch` held a batch split over the devices at all 3 calls on 8 devices",
    ]
    assert "2 groups of arrays were replicated or split in that run, which fix cannot prove; verifying" in told.err
    assert told.out.splitlines()[-1].endswith("not proven: depends on 2 observations")
    texts = [told.out, *(Path(f"r.{ending}").read_text() for ending in ("json", "md", "html", "xml"))]
    for text in texts:
        plain = re.sub(r"<[^>]+>|\\", "", text)
        assert "gave the same slice for every device at all 3 calls on 8 devices" in plain
        assert "a run that is long enough" in " ".join(plain.split())
    for text in (texts[0], texts[4]):
        assert all(PLACE.search(line) for line in text.splitlines() if "observed:" in line)
    assert ET.parse("r.xml").find(".//testcase/system-out") is not None

    after = Path("train.py").read_text()
    assert "params = shard(jax.tree.map(lambda x: x[0], library.create_state(0)), P())" in after
    assert "jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)" in after
    assert "print(float(loss))" in after
    assert "__jaxmigrate" not in after


def test_groups_that_fail_are_left_one_by_one_and_a_devices_own_state_stays(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(folder, GROUPS)
    status, report = observe(words=("12345678",))
    told = capsys.readouterr()

    assert status == 0
    assert "try 1 of 5" in told.err
    assert "try 2 of 5" in told.err
    assert "trying again without what the run showed of library.rate" in told.err  # which the library writes into
    assert layouts(report) == {
        "params": "replicated",
        "momentum": "replicated",
        "batch": "split",
        "noise": "stacked",
        "rate": "replicated",  # where it is given away, at each call
        "-> 0": "replicated",
        "-> 1": "replicated",
        "-> 2": "stacked",
    }
    notes = report["verification"]["notes"]
    assert any(
        "kept stacked in spite of what the run showed: library.rate (train.py:" in one and "call 1" in one
        for one in notes
    )
    after = Path("train.py").read_text()
    assert "params = shard(np.ones((3,), np.float32), P())" in after  # what helpers do shows in what they are given
    assert "momentum = shard(jnp.zeros((3,), jnp.float32), P())" in after
    assert 'shard(batch, P("batch"))' in after
    assert "rate = library.rate()" in after
    assert "noise, shard(jax.tree.map(lambda x: x[0], rate), P())" in " ".join(after.split())


def test_what_differs_at_a_later_call_is_not_observed(folder: Path) -> None:
    lay_out(folder, ACCIDENT)
    status, report = observe(words=("3",))
    assert status == 0
    assert layouts(report)["mean"] == layouts(report)["-> 1"] == "stacked"
    assert report["summary"]["grade"] == "proven"


def test_an_accident_of_a_short_run_is_refuted_by_a_longer_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(folder, ACCIDENT)
    before = folder / "before"
    before.mkdir()
    lay_out(before, ACCIDENT)
    status, report = observe(words=("1",))
    assert status == 0
    assert layouts(report)["mean"] == layouts(report)["-> 1"] == "replicated"
    assert [one["says"] for one in report["assumptions"]] == [
        "`train.step[1]` was equal on all 8 devices at the one call"
    ]
    assert "a run that is long enough" in capsys.readouterr().out

    assert main(["verify", ".", "--original", "before", "--", sys.executable, "train.py", "3"]) == 1
    assert "different" in capsys.readouterr().out


def test_a_program_that_fails_shows_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(folder, TRAIN.replace("for batch in", "raise SystemExit(3)\n    for batch in"))
    text = Path("train.py").read_text()
    status, report = observe()
    assert status == 1
    assert [site["status"] for site in report["sites"]] == ["left"]
    assert "the original program does not run" in report["sites"][0]["reason"]
    assert Path("train.py").read_text() == text


WRONG = {
    "no command": (["--observe"], "nothing to run"),
    "stacked": (["--observe", "--layout", "stacked", "--", "python", "train.py"], "--layout stacked wants none"),
    "docs": (["--observe", "--docs", "--", "python", "train.py"], "--docs rewrites code in documentation"),
    "standard input": (["-", "--observe", "--", "python", "train.py"], "standard input"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage_has_one_message(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(folder, TRAIN)
    options, message = WRONG[name]
    paths = [] if options[0] == "-" else ["train.py"]
    with open("train.py", encoding="utf-8") as stdin, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", stdin)  # pytest's own cannot be read
        assert main(["fix", *paths, *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("jaxmigrate: error:") == 1


def test_without_it_nothing_is_observed() -> None:
    files = {"train.py": TRAIN}
    assert "x[0]" not in fix_files(files, "auto")["train.py"]


def test_arrays_that_no_rewrite_can_use_are_told_with_what_is_in_the_way(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(folder, TRAIN)
    text = Path("train.py").read_text()
    Path("train.py").write_text(text.removesuffix("main()\n") + "print(len(globals()))\nmain()\n")
    observe()
    told = capsys.readouterr().err
    assert "no array that the run shows replicated or split can become global\n  train.py:" in told
    assert "batch was split, and stays stacked: " in told
