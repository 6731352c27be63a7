"""A file at which jaxmigrate itself fails stays as it is, is told, and keeps no other from being rewritten."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.migrate import project
from jaxmigrate.migrate.decide import surroundings
from tests.layouts.running import OBSERVER, Program, run
from tests.test_partial_views import CALLS_STEP, STEP

PLAIN = "import jax\n\nf = jax.pmap(lambda x: 2 * x)\n"
OLD = "import jax\n\ny = jax.tree_map(abs, x)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fails(module: str, name: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a function raise wherever something of a file is among its arguments; "" is always."""
    owner = importlib.import_module(module)
    real: Callable[..., Any] = getattr(owner, name)

    def broken(*arguments: Any, **options: Any) -> Any:
        of = (getattr(getattr(one, "module", one), "path", None) for one in arguments)
        if not path or any(isinstance(one, Path) and one.name == path for one in of):
            raise KeyError("spare part")
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, broken)


STEPS = [
    ("jaxmigrate.migrate.project", "style_of"),
    ("jaxmigrate.migrate.project", "decide"),
    ("jaxmigrate.migrate.project", "mapped_sites"),
    ("jaxmigrate.migrate.api_updates.project", "_renew"),
]


@pytest.mark.parametrize(("module", "name"), STEPS)
def test_the_others_are_written(
    module: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"a.py": PLAIN + OLD, "bad.py": PLAIN + OLD, "c.py": PLAIN, "d.py": OLD}
    for path, text in files.items():
        (folder / path).write_text(text)
    fails(module, name, "bad.py", monkeypatch)
    assert main(["fix", ".", "--report", "r.json"]) == 2
    told = capsys.readouterr()
    assert (folder / "bad.py").read_text() == files["bad.py"]
    assert "jax.pmap" not in (folder / "a.py").read_text() + (folder / "c.py").read_text()
    assert "jax.tree.map" in (folder / "a.py").read_text()
    assert "jax.tree.map" in (folder / "d.py").read_text()
    assert "bad.py: jaxmigrate failed at this file (KeyError: 'spare part' at " in told.err
    report = json.loads((folder / "r.json").read_text())
    assert [error["path"] for error in report["errors"]] == ["bad.py"]
    assert {site["path"]: site["status"] for site in report["sites"] if site["path"] != "bad.py"} == {
        "a.py": "rewritten",
        "c.py": "rewritten",
    }
    if name != "mapped_sites":
        assert "bad.py:3:5 JM490 jaxmigrate failed at this file" in told.out


def test_what_cannot_be_blamed_on_a_file_leaves_all_arrays_stacked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "lib.py").write_text(STEP)
    fails("jaxmigrate.migrate.project", "choose", "", monkeypatch)
    assert main(["fix", "."]) == 2
    text = (folder / "lib.py").read_text()
    assert "jax.pmap" not in text
    assert "P()" not in text


def test_where_nothing_else_helps_each_file_is_taken_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is about several files at once."""
    for name in ("a.py", "b.py"):
        (folder / name).write_text(PLAIN)
    real = surroundings

    def broken(texts: Any) -> Any:
        if sum("pmap" in text for text in texts) > 1:
            raise KeyError("spare part")
        return real(texts)

    monkeypatch.setattr(project, "surroundings", broken)
    assert main(["fix", "."]) == 2
    assert "pmap" not in (folder / "a.py").read_text().replace("pmapped", "")


def test_a_rewrite_that_does_not_parse_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.py").write_text(PLAIN)
    monkeypatch.setattr("jaxmigrate.codemod.apply.rewritten", lambda text, *_, **__: text + "(\n")
    assert main(["fix", "a.py"]) == 2
    assert (folder / "a.py").read_text() == PLAIN
    assert "jaxmigrate failed at this file (SyntaxError" in capsys.readouterr().err


@pytest.mark.parametrize("failed", ["lib.py", "main.py"])
def test_files_that_share_arrays_with_it_compute_what_they_did(
    failed: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"lib.py": STEP, "main.py": CALLS_STEP + "print(RESULT)\n", "observer.py": OBSERVER}
    for name, text in files.items():
        (folder / name).write_text(text)
    fails("jaxmigrate.migrate.project", "style_of", failed, monkeypatch)
    assert main(["fix", "."]) == 2
    after = {name: (folder / name).read_text() for name in files}
    assert after[failed] == files[failed]
    assert (after["lib.py"] != files["lib.py"]) == (failed == "main.py")
    found = run([Program("before", files), Program("after", after)])
    assert not found["after"]["error"]
    assert found["after"]["result"] == found["before"]["result"]
