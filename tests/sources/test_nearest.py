"""What fix looks at around the files given, in a folder that is no project and may hold very many files."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.commands.beside import texts_beside
from jaxmigrate.config import Config
from jaxmigrate.sources import nearest, read_source

MANY = 30
NEAR = {
    "work/beside.py",
    "work/app/__init__.py",
    "work/app/core/__init__.py",
    "work/app/core/steps.py",
    "work/app/core/train.py",
    "work/app/far/away/deep.py",
    "work/notes/more.py",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a project, in which a package stands among many other files."""
    for name in [*NEAR, *(f"other/m{number}.py" for number in range(MANY))]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import jax\nstep = jax.pmap(abs)\n" if name.endswith("steps.py") else "import steps\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(nearest, "MOST_FILES", 6)
    return tmp_path


def looked_at(root: Path, *names: str) -> set[str]:
    sources = [read_source(root / name, name) for name in names]
    return {path.relative_to(root).as_posix() for path in texts_beside(sources, Config())} | {*names}


def test_the_package_and_what_stands_beside_it_are_looked_at_first(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = "work/app/core/steps.py"
    found = looked_at(root, steps)
    assert found >= NEAR
    assert len(found) == len(NEAR) + 5
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"note: {root} has no pyproject.toml, ")
    assert f"only {len(found)} Python files were looked at" in said
    assert looked_at(root, steps) == found
    assert capsys.readouterr().err == ""  # once is enough


def test_all_files_beside_the_one_given_are_looked_at(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = (
        looked_at(root, "other/m0.py") if (root / "other/m0.py").write_text("import jax\njax.pmap(abs)\n") else set()
    )
    assert {name for name in found if name.startswith("other/")} == {f"other/m{number}.py" for number in range(MANY)}
    assert len(found) == MANY + 6
    assert "looked at" in capsys.readouterr().err


def test_folders_without_python_files_count_too(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(nearest, "MOST_FILES", 1000)
    assert len(looked_at(root, "work/app/core/steps.py")) == len(NEAR) + MANY
    assert capsys.readouterr().err == ""
    for number in range(MANY):
        (root / f"work/notes/empty{number}").mkdir()
    monkeypatch.setattr(nearest, "MOST_FOLDERS", 20)
    assert looked_at(root, "work/app/core/steps.py") == NEAR
    assert "looked at" in capsys.readouterr().err


@pytest.mark.parametrize("mark", ["pyproject.toml", "setup.py"])
def test_all_of_a_project_is_looked_at(root: Path, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    (root / mark).touch()
    assert len(looked_at(root, "work/app/core/steps.py") - {mark}) == len(NEAR) + MANY
    assert capsys.readouterr().err == ""
