"""Baselines, standard input under a name, and comments that silence nothing."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from jaxmigrate.cli import main

WRONG = "import jax\n\n\np = jax.pmap(lambda x: jax.lax.psum(x, 'bacth'), axis_name='batch')\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(WRONG)
    return tmp_path


class TestBaseline:
    def test_what_is_known_is_not_told(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["lint", ".", "--baseline", "known.json", "--write-baseline"]) == 0
        assert capsys.readouterr().err.startswith("1 finding written to known.json\n")
        assert main(["lint", ".", "--baseline", "known.json"]) == 0
        assert capsys.readouterr().err.startswith("1 finding already in the baseline known.json\n")

    def test_moved_is_known_and_another_is_new(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["lint", ".", "--baseline", "known.json", "--write-baseline"])
        (folder / "a.py").write_text("import os\n" + WRONG)
        assert main(["lint", ".", "--baseline", "known.json"]) == 0
        capsys.readouterr()
        (folder / "a.py").write_text(WRONG + WRONG)
        assert main(["lint", ".", "--baseline", "known.json"]) == 1
        assert capsys.readouterr().out.count("JM101") == 1

    def test_what_is_gone_is_said(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["lint", ".", "--baseline", "known.json", "--write-baseline"])
        (folder / "a.py").write_text("import jax\n")
        assert main(["lint", ".", "--baseline", "known.json"]) == 0
        assert "1 of its entries no longer found" in capsys.readouterr().err

    def test_paths_do_not_depend_on_where_it_is_run(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        main(["lint", ".", "--baseline", "known.json", "--write-baseline"])
        (folder / "below").mkdir()
        monkeypatch.chdir(folder / "below")
        assert main(["lint", "..", "--baseline", "../known.json"]) == 0
        assert main(["lint", str(folder), "--baseline", "../known.json"]) == 0

    @pytest.mark.parametrize("content", [None, "", "[]", '{"version": 2, "findings": []}', '{"version": 1}'])
    def test_one_that_cannot_be_used(
        self, folder: Path, capsys: pytest.CaptureFixture[str], content: str | None
    ) -> None:
        if content is not None:
            (folder / "known.json").write_text(content)
        assert main(["lint", ".", "--baseline", "known.json"]) == 2
        assert "known.json" in capsys.readouterr().err

    def test_writing_needs_a_file(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["lint", ".", "--write-baseline"]) == 2
        assert "--write-baseline needs --baseline FILE" in capsys.readouterr().err


class TestStandardInput:
    def test_stands_where_it_is_said_to(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "sub").mkdir()
        (folder / "sub" / "names.py").write_text("AXIS = 'bacth'\n")
        (folder / "sub" / "pyproject.toml").write_text('[tool.jaxmigrate]\nper-file-ignores = {"c.py" = ["JM1"]}\n')
        text = "import jax\nfrom names import AXIS\np = jax.pmap(lambda x: jax.lax.psum(x, AXIS), axis_name='batch')\n"
        for name, status in (("sub/b.py", 1), ("sub/c.py", 0)):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            assert main(["lint", "-", "--stdin-filename", name]) == status
        assert capsys.readouterr().out.startswith("sub/b.py:3:24 JM101")

    def test_its_text_goes_before_what_is_on_the_disk(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"import jax\n")))
        assert main(["lint", "-", "--stdin-filename", "a.py", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["files"] == 1

    def test_a_name_alone_means_nothing(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["lint", ".", "--stdin-filename", "a.py"]) == 2
        assert "goes with the path -" in capsys.readouterr().err


class TestUnusedSilence:
    @pytest.mark.parametrize(
        ("comment", "options", "told"),
        [
            ("ignore[JM101]", [], ""),
            ("ignore", [], ""),
            ("ignore[JM2]", [], "'# jaxmigrate: ignore[JM2]' silences nothing here"),
            ("ignore[JM101, JM301]", [], "'# jaxmigrate: ignore[JM301]' silences nothing here"),
            ("ignore[JM2]", ["--select", "JM1"], ""),
            ("ignore[JM402]", [], ""),
            ("ignore[JM999]", [], "'# jaxmigrate: ignore[JM999]': there is no such rule"),
        ],
    )
    def test_is_told(
        self, folder: Path, capsys: pytest.CaptureFixture[str], comment: str, options: list[str], told: str
    ) -> None:
        (folder / "a.py").write_text(WRONG.rstrip() + f"  # jaxmigrate: {comment}\n")
        main(["lint", ".", *options])
        said = capsys.readouterr().err
        assert f"warning: {told}" in said if told else "warning" not in said

    def test_does_not_change_the_status(self, folder: Path) -> None:
        (folder / "a.py").write_text("import jax\nx = 1  # jaxmigrate: ignore\n")
        assert main(["lint", "."]) == 0

    def test_is_in_the_formats_for_machines(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text("import jax\nx = 1  # jaxmigrate: ignore[JM101]\n")
        main(["lint", ".", "--format", "json"])
        (warning,) = json.loads(capsys.readouterr().out)["warnings"]
        assert (warning["path"], warning["line"]) == ("a.py", 2)
        main(["lint", ".", "--format", "github"])
        assert capsys.readouterr().out.startswith("::warning file=a.py,line=2,title=jaxmigrate::")


def test_the_way_to_a_collective_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.py").write_text(
        "import jax\ndef inner(x): return jax.lax.psum(x, 'bacth')\ndef outer(x): return inner(x)\n"
        "p = jax.pmap(lambda x: outer(x), axis_name='batch')\n"
    )
    assert main(["lint", "."]) == 1
    assert "did you mean 'batch'? (reached through outer -> inner)" in capsys.readouterr().out
    main(["lint", ".", "--format", "json"])
    notes = json.loads(capsys.readouterr().out)["findings"][0]["notes"]
    assert [(note["line"], note["message"]) for note in notes] == [
        (4, "pmap maps it over 'batch'"),
        (4, "calls outer"),
        (3, "calls inner"),
    ]
