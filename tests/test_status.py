"""`jaxmigrate status`: the figures of a project, the same in every format, and less of them after each step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.config import Config
from jaxmigrate.migrate.plan import ArrayLayout, SitePlan
from jaxmigrate.reports.fix_result import FixedFile, FixResult
from jaxmigrate.reports.status import status_of
from tests.test_cli_layouts import TRAINER
from tests.test_partial_views import CALLS_STEP, STEP

LEFT = "import jax\n\nprint(jax.pmap.__doc__)\n"
OLD = "import jax\n\ny = jax.tree_map(f, x)\nz = jax.tree_map(g, x)\nm = jax.xla_computation(f)\n"
KEPT = "import jax\n\nf = jax.pmap(lambda x: x)  # jaxmigrate: ignore\n"
DONE = "import jax\n\nf = jax.jit(jax.shard_map(g, mesh=m, in_specs=s, out_specs=s))\n"
FILES = {"train.py": TRAINER, "lib.py": STEP, "main.py": CALLS_STEP, "left.py": LEFT, "old.py": OLD}
FILES |= {"kept.py": KEPT, "done.py": DONE}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def figures(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 1) -> dict[str, Any]:
    """The page as JSON."""
    capsys.readouterr()
    assert main(["status", *arguments, "--format", "json"]) == status
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.usefixtures("project")
def test_figures(capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys)
    assert found["maps"] == 4
    assert found["done"] == 1
    assert found["files"] == 7
    assert found["states"] == {"global": 1, "mixed": 1, "stacked": 0, "left": 1, "kept": 1}
    assert found["forms"] == {"call": 2, "partial": 1, "value": 1}
    assert found["by_file"] == {"train.py": 1, "lib.py": 1, "left.py": 1, "kept.py": 1}
    assert found["headline"] == "4 maps, 3 old names to migrate in 5 of 7 files; 1 uses shard_map already"
    stays = {cause["reason"]: (cause["sites"], cause["frees"], cause["example"]) for cause in found["stays"]}
    assert stays["holds one random key per device"] == (1, 1, "train.py:16")
    assert [(one["code"], one["sites"]) for one in found["left"]] == [("JM404", 1), ("JM491", 1)]
    names = {one["name"]: (one["replacement"], one["uses"], one["left"]) for one in found["names"]}
    assert names["jax.tree_map"] == ("jax.tree.map", 2, 0)
    assert names["jax.xla_computation"][1:] == (1, 1)
    assert "random-key" in {cause["code"] for cause in found["stays"]}
    commands = [step["command"] for step in found["next"]]
    assert commands[:2] == ["jaxmigrate fix . --diff", "jaxmigrate fix . --verify -- COMMAND"]
    assert "jaxmigrate rule JM404" in commands


def test_it_shrinks(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "."]) == 1
    found = figures(capsys)
    assert found["states"] == {"global": 0, "mixed": 0, "stacked": 0, "left": 1, "kept": 1}
    assert found["done"] == 3
    assert [one["name"] for one in found["names"]] == ["jax.xla_computation"]
    for name in ("left.py", "old.py"):
        (project / name).unlink()
    assert figures(capsys, status=0)["maps"] == 1


def test_every_format_has_the_figures(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(capsys, "--report", "out/s.html", "--report", "out/s.md", "--report", "out/s.json")
    assert json.loads((project / "out/s.json").read_text()) == found
    assert main(["status"]) == 1
    text = capsys.readouterr().out
    page, markdown = (project / "out/s.html").read_text(), (project / "out/s.md").read_text()
    for shown in (text, page, markdown):
        assert found["headline"] in shown.replace("\\_", "_")
        assert "holds one random key per device" in shown
        assert "jax.tree.map" in shown
        assert "jaxmigrate fix . --verify -- COMMAND" in shown.replace("\\", "")
    assert "<script" not in page
    for form in ("markdown", "html"):
        assert main(["status", "--format", form]) == 1
        assert found["headline"] in capsys.readouterr().out.replace("\\_", "_")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_text_is_as_wide_as_it_may_be(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["status"]) == 1
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


def test_what_cannot_be_read_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "broken.py").write_text("import jax\njax.pmap(\n")
    found = figures(capsys, status=2)
    assert any(error.startswith("broken.py:2") for error in found["errors"])


UNKNOWN = """import jax

step = jax.pmap(lambda w, x: (w, x))


def run(load):
    a, b = load(1), load(2)
    for _ in range(9):
        a, b = step(a, b)
"""


def test_results_are_not_counted_beside_the_arguments_that_hold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(UNKNOWN)
    found = figures(capsys)
    assert [(one["reason"], one["sites"], one["frees"]) for one in found["stays"]] == [
        ("might not hold one slice per device", 1, 1)
    ]
    commands = [step["command"] for step in found["next"]]
    assert "jaxmigrate fix . --observe -- COMMAND" in commands
    assert "jaxmigrate fix . --explain train.py:3" in commands


def test_sites_are_grouped_by_what_their_reasons_share() -> None:
    """By the record that each reason carries, whatever its words are."""

    def site(line: int, reason: str, cause: str, topic: str) -> SitePlan:
        array = ArrayLayout("x", "stacked", reason, cause=cause, topic=topic)
        return SitePlan(f"a:{line}", "a.py", line, 0, "call", "i", "f", "rewritten", arguments=(array,))

    sites = [
        site(3, "some words about .max (line 9)", "read-on-host", "host"),
        site(5, "other words about .min (line 7)", "read-on-host", "host"),
        site(8, "some words about .max (line 9)", "passed-on", "else"),
    ]
    found = status_of(FixResult(files=(FixedFile("a.py", "shown", tuple(sites)),)), ["."], 1, 0, Config()).stays
    assert [(one.reason, one.code, one.sites) for one in found] == [
        ("host", "read-on-host", 2),
        ("else", "passed-on", 1),
    ]
