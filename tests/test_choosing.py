"""`fix --select` and `fix --interactive`: only what is wanted changes, and what it shares arrays with fits it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from tests.layouts.running import OBSERVER, Program, run
from tests.test_kept import TRAIN

OLD = """\
import jax
from jax.experimental import pjit
from jax.experimental.shard_map import shard_map

f = jax.pmap(lambda x: jax.tree_map(abs, x))
g = shard_map(f, mesh=m, in_specs=s, out_specs=s, check_rep=False)
h = jax.tree_map(abs, y)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answering(answers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))


@pytest.mark.parametrize(
    ("codes", "changed"),
    [
        ("JM410", {"tree_map"}),
        ("JM412", {"shard_map"}),
        ("JM410,JM412", {"tree_map", "shard_map"}),
        ("JM41", {"tree_map", "shard_map"}),
        ("JM4", {"tree_map", "shard_map", "pmap"}),
    ],
)
def test_only_selected_rules(codes: str, changed: set[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.py").write_text(OLD)
    main(["fix", "a.py", "--select", codes])
    after = (folder / "a.py").read_text()
    assert ("jax.tree_map" not in after) == ("tree_map" in changed)
    assert ("check_rep" not in after) == ("shard_map" in changed)
    assert ("jax.pmap" not in after) == ("pmap" in changed)
    told = capsys.readouterr().out
    assert ("site" in told) == ("pmap" in changed)
    assert "kept" not in told


def test_a_selection_that_leaves_nothing_to_do_is_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.py").write_text("import jax\n\nf = jax.pmap(lambda x: x)\ny = jax.xla_computation(f)\n")
    assert main(["fix", "a.py", "--select", "JM410", "--check"]) == 0
    assert capsys.readouterr().out == "0 sites in 0 files: 0 rewritten, 0 left\n"


@pytest.mark.parametrize("codes", ["JM101", "JM402", "JM491"])
def test_other_rules_cannot_be_selected(codes: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", ".", "--select", codes]) == 2
    assert f"{codes} is not a rule about old names; those are JM410 to JM420" in capsys.readouterr().err


def test_answers_are_obeyed(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.py").write_text(OLD)
    answering("n\ny\nn\n", monkeypatch)
    assert main(["fix", "a.py", "--interactive"]) == 0
    out = capsys.readouterr().out
    assert "a.py:5: f = jax.pmap(lambda x: jax.tree_map(abs, x))\n  change it (1 of 3)? [y,n,d,e,a,q,?] " in out
    assert "jax.tree_map -> jax.tree.map, 2 uses\n" in out
    after = (folder / "a.py").read_text()
    kept = [name for name in ("jax.pmap", "jax.tree_map", "jax.experimental.shard_map") if name in after]
    assert len(kept) == 2
    assert "jax.pmap" in kept
    assert "JM491 was declined" in out


def test_questions_can_be_asked_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "main.py").write_text(TRAIN)
    answering("?\nwhat\nd\ne\ny\na\n", monkeypatch)
    assert main(["fix", ".", "-i"]) == 0
    out = capsys.readouterr().out
    assert out.count("q: stop and write nothing") == 2
    assert "@@ " in out
    assert '-@functools.partial(jax.pmap, axis_name="batch")' in out
    assert "    argument params: replicated\n" in out
    assert "jax.pmap" not in (folder / "main.py").read_text()


@pytest.mark.parametrize("answers", ["q\n", "", "y\nn\nq\n"])
def test_who_stops_writes_nothing(
    answers: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what is of another project, and was answered before."""
    texts = {"one/pyproject.toml": "[tool.jaxmigrate]\n", "one/a.py": OLD, "b.py": OLD}
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    answering(answers, monkeypatch)
    assert main(["fix", "one", "b.py", "-i"]) == 1
    assert capsys.readouterr().err.endswith("nothing was written\n")
    assert all((folder / name).read_text() == text for name, text in texts.items())


@pytest.mark.parametrize("other", ["--diff", "--check", "--docs", "-"])
def test_it_does_not_go_with_what_does_not_write(other: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "-i", other]) == 2
    assert "--interactive asks and then writes" in capsys.readouterr().err


def test_notebooks_are_not_asked_about(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = '{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "%s"}'
    source = "import jax\\nf = jax.pmap(lambda x: x)"
    (folder / "n.ipynb").write_text(
        f'{{"cells": [{cell % source}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}'
    )
    assert main(["fix", "-i", "."]) == 2
    assert "--interactive asks about Python files" in capsys.readouterr().err


def test_numbers_stay_whatever_is_declined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of three maps is declined by itself; what it shares with the others stays stacked."""
    programs = [Program("before", {"main.py": TRAIN, "observer.py": OBSERVER})]
    for declined in range(3):
        folder = tmp_path / str(declined)
        folder.mkdir()
        for name, text in programs[0].files.items():
            (folder / name).write_text(text)
        monkeypatch.chdir(folder)
        answering("".join("n\n" if number == declined else "y\n" for number in range(3)), monkeypatch)
        assert main(["fix", ".", "-i"]) == 0
        after = (folder / "main.py").read_text()
        assert after.count("jax.pmap") == 1
        programs.append(Program(str(declined), {"main.py": after, "observer.py": OBSERVER}))
    found = run(programs)
    for declined in range(3):
        assert not found[str(declined)]["error"]
        assert found[str(declined)]["result"] == found["before"]["result"]
