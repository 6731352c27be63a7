"""The cache answers as long as nothing that a result depends on has changed, and never longer."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.lint import linting
from jaxmigrate.lint.cache import FOLDER

MODEL = "from jax import lax\ndef f(x): return lax.psum(x, {axis!r})\n"
TRAIN = "import jax\nimport model\np = jax.pmap(model.f, axis_name='batch')\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "model.py").write_text(MODEL.format(axis="bacth"))
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many modules the rules were asked about, call by call."""
    calls: list[int] = []
    real = linting.ask

    def counted(modules, project, names, target):  # type: ignore[no-untyped-def]
        calls.append(len(modules))
        return real(modules, project, names, target)

    monkeypatch.setattr(linting, "ask", counted)
    return calls


def lint(*arguments: str) -> int:
    return main(["lint", *arguments])


def test_nothing_is_asked_twice(project: Path, asked: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(".") == 1
    first = capsys.readouterr()
    assert "model.py:2:18 JM101" in first.out
    assert lint(".") == 1
    assert capsys.readouterr() == first
    assert len(asked) == 1


def test_the_folder_hides_itself_from_version_control(project: Path) -> None:
    lint(".")
    assert (project / FOLDER / ".gitignore").read_text() == "*\n"


def test_no_cache_neither_writes_nor_reads(project: Path, asked: list[int]) -> None:
    lint("--no-cache", ".")
    assert not (project / FOLDER).exists()
    lint(".")
    lint("--no-cache", ".")
    assert len(asked) == 3


def test_a_changed_file_is_looked_at_again(project: Path, asked: list[int]) -> None:
    assert lint(".") == 1
    stamp = os.stat(project / "model.py")
    (project / "model.py").write_text(MODEL.format(axis="batch"))
    os.utime(project / "model.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert lint(".") == 0
    assert len(asked) == 2


def test_a_changed_import_counts_though_it_was_not_named(project: Path) -> None:
    assert lint("train.py") == 0  # the finding is in a file that nobody named
    (project / "train.py").write_text(
        TRAIN + "from names import AXIS\nq = jax.pmap(lambda x: jax.lax.psum(x, AXIS), 'i')\n"
    )
    (project / "names.py").write_text("AXIS = 'i'\n")
    assert lint("train.py") == 0
    (project / "names.py").write_text("AXIS = 'j'\n")
    assert lint("train.py") == 1


def test_a_file_that_appears_counts(project: Path) -> None:
    (project / "use.py").write_text(
        "import jax\nfrom names import AXIS\nq = jax.pmap(lambda x: jax.lax.psum(x, AXIS), 'i')\n"
    )
    assert lint("use.py") == 0
    (project / "names.py").write_text("AXIS = 'j'\n")
    assert lint("use.py") == 1


def test_a_selection_is_made_after_the_cache(project: Path, asked: list[int]) -> None:
    assert lint("--ignore", "JM1", ".") == 0
    assert lint(".") == 1
    assert len(asked) == 1


@pytest.mark.parametrize("content", ["", "[]", '{"files": []}', "\0"])
def test_a_broken_record_is_none(project: Path, asked: list[int], content: str) -> None:
    lint(".")
    (record,) = (project / FOLDER).glob("*/*.json")
    record.write_text(content)
    assert lint(".") == 1
    assert len(asked) == 2
    assert json.loads(record.read_text())["findings"]


def test_what_other_versions_left_is_removed(project: Path) -> None:
    old = project / FOLDER / "0123"
    old.mkdir(parents=True)
    (old / "x.json").write_text("{}")
    lint(".")
    assert not old.exists()


def test_files_that_do_not_parse_are_told_from_the_cache_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "broken.py").write_text("import jax\njax.pmap(\n")
    for _ in range(2):
        assert lint("broken.py") == 2
        assert capsys.readouterr().err.startswith("broken.py:2:")
