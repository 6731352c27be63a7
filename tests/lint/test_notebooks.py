"""Notebooks are linted as files are, and findings name cells."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.lint import pool

FIRST = "import jax\nAXIS = 'batch'\n%matplotlib inline\n"
MAPPED = "%%time\ndef step(x):\n    return jax.lax.psum(x, 'bacth'){comment}\n\np_step = jax.pmap(step, axis_name=AXIS)"
FINDING = "cell 3:3:12 JM101 [*] psum: axis 'bacth' is not bound here; did you mean 'batch'?"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def book(*sources: str, language: str = "python", **more: object) -> str:
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "metadata": {}, "source": "# jax.pmap"}]
    cells += [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source.splitlines(True)}
        for source in sources
    ]
    content = {"cells": cells, "metadata": {"language_info": {"name": language}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content | more, indent=1) + "\n"


def mapped(comment: str = "") -> str:
    return book(FIRST, MAPPED.format(comment=comment))


def test_findings_name_the_cell(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.ipynb").write_text(mapped())
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "a-checkpoint.ipynb").write_text(mapped())
    for _ in range(2):  # the second time from the cache
        assert main(["lint", "."]) == 1
        out, err = capsys.readouterr()
        assert out == f"a.ipynb:{FINDING}\n"
        assert err.startswith("1 finding in 1 file, 1 file checked; 1 use of pmap: ")


def test_an_edit_outlives_no_cache(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.ipynb").write_text(mapped())
    assert main(["lint", "."]) == 1
    (folder / "a.ipynb").write_text(mapped().replace("bacth", "batch"))
    assert main(["lint", "."]) == 0


def test_what_modules_beside_it_say_is_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "constants.py").write_text("AXIS = 'batch'\n")
    (folder / "a.ipynb").write_text(mapped().replace("AXIS = 'batch'", "from constants import AXIS"))
    assert main(["lint", "."]) == 1
    assert capsys.readouterr().out == f"a.ipynb:{FINDING}\n"


def test_comments_silence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.ipynb").write_text(mapped("  # jaxmigrate: ignore[JM101]"))
    assert main(["lint", "."]) == 0
    (folder / "a.ipynb").write_text(book(FIRST, "x = 1\ny = 2  # jaxmigrate: ignore"))
    assert main(["lint", "."]) == 0
    assert "a.ipynb:cell 3:2: warning: '# jaxmigrate: ignore' silences nothing here" in capsys.readouterr().err


def test_other_formats_show_the_cell_and_the_line_of_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = mapped()
    (folder / "a.ipynb").write_text(text)
    line = next(n for n, line in enumerate(text.split("\n"), 1) if "bacth" in line)
    assert main(["lint", "--format", "json", "."]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["path"], found["cell"], found["line"], found["column"], found["file_line"]) == (
        *("a.ipynb", 3, 3, 12),
        line,
    )
    assert main(["lint", "--format", "github", "."]) == 1
    assert capsys.readouterr().out.startswith(
        f"::error file=a.ipynb,line={line},title=jaxmigrate JM101::cell 3:3:12: psum: axis 'bacth'"
    )
    assert main(["lint", "--format", "sarif", "."]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": line}
    assert result["message"]["text"].startswith("cell 3:3:12: psum")
    assert main(["lint", "--format", "junit", "."]) == 1
    assert f"a.ipynb:{FINDING.replace(' [*]', '')}" in capsys.readouterr().out


def test_notes_name_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "def inner(x):\n    return jax.lax.psum(x, 'j')"
    (folder / "a.ipynb").write_text(book(FIRST, source, "p = jax.pmap(lambda x: inner(x), axis_name='i')"))
    assert main(["lint", "--format", "json", "."]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["cell"], found["line"]) == (3, 2)
    assert {(note["cell"], note["line"]) for note in found["notes"]} == {(4, 1)}


def test_findings_are_in_the_order_of_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "jax.pmap(lambda x: jax.lax.psum(x, 'j'), axis_name='i')"
    (folder / "a.ipynb").write_text(book(FIRST, f"1\n2\n{wrong}", wrong, *["1"] * 8, wrong))
    assert main(["lint", "."]) == 1
    places = [line.split(" JM")[0] for line in capsys.readouterr().out.splitlines()]
    assert places == [f"a.ipynb:cell {cell}:{line}:20" for cell, line in ((3, 3), (4, 1), (13, 1))]


def test_processes_agree_with_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for n in range(300):
        (folder / f"{n}").mkdir()
        (folder / f"{n}" / "a.ipynb").write_text(mapped() if n % 50 == 0 else book("x = 1"))
    monkeypatch.setattr(pool, "workers", lambda files: 1)
    assert main(["lint", "--no-cache", "."]) == 1
    alone = capsys.readouterr()
    monkeypatch.setattr(pool, "workers", lambda files: 2)
    assert main(["lint", "--no-cache", "."]) == 1
    assert capsys.readouterr() == alone
    assert alone.out.count(FINDING) == 6


def test_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(mapped().encode())))
    assert main(["lint", "-", "--stdin-filename", "x.ipynb"]) == 1
    assert capsys.readouterr().out == f"x.ipynb:{FINDING}\n"


def test_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.ipynb").write_text(mapped())
    assert main(["lint", ".", "--baseline", "known.json", "--write-baseline"]) == 0
    (folder / "a.ipynb").write_text(book("'another cell above'", FIRST, MAPPED.format(comment="")))
    assert main(["lint", ".", "--baseline", "known.json"]) == 0


def test_what_cannot_be_read_stops_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.ipynb").write_text(mapped())
    (folder / "b.ipynb").write_text(mapped()[:-20])
    (folder / "c.ipynb").write_text(book(FIRST, "jax.pmap(\n"))
    (folder / "d.ipynb").write_text('{"nbformat": 3, "worksheets": ["jax.pmap"]}')
    (folder / "e.ipynb").write_text(book("library(jax)", "pmap(x)", language="R"))
    assert main(["lint", "."]) == 2
    out, err = capsys.readouterr()
    assert out == f"a.ipynb:{FINDING}\n"
    lines = err.splitlines()
    assert lines[0].startswith("b.ipynb:")
    assert ": is not JSON: " in lines[0]
    assert lines[1] == "c.ipynb:cell 3:1:9: cannot be parsed: '(' was never closed"
    assert lines[2].startswith("d.ipynb: is a notebook of nbformat 3, and only nbformat 4 is read; ")
    assert lines[3:] == [
        "e.ipynb: skipped: its kernel's language is r, not Python",
        "1 finding in 1 file, 2 of 5 files checked; 1 use of pmap: `jaxmigrate fix --diff` shows how to rewrite it",
        "[*] 1 can be fixed by `jaxmigrate lint --fix`",
    ]
