"""`lint --fix` as a whole: what is written, what is printed, the exit status, and what it refuses."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.cli import main
from jaxmigrate.commands.mending import applied
from jaxmigrate.findings.fixes import Edit, Fix, Span
from jaxmigrate.sources import decode
from tests.lint.test_notebooks import FIRST, MAPPED, book
from tests.test_hooks import hooks

WRONG = """\
import jax


def step(batch, n):  # größe
    mean = jax.lax.pmean(jax.lax.pmean(batch, "bacth"), "bacth")
    return mean, jax.lax.psum(jax.lax.psum(n, "batch"), "batch")


p_step = jax.pmap(step, axis_name="batch")
"""
ONE = "import jax\n\n\np = jax.pmap(lambda batch: jax.lax.psum(batch, 'bacth'), axis_name='batch')\n"
RIGHT = ONE.replace("bacth", "batch")
# the names first, then the second mean, which meets one of them
MENDED = WRONG.replace('jax.lax.pmean(jax.lax.pmean(batch, "bacth"), "bacth")', 'jax.lax.pmean(batch, "batch")')

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Stdin(io.TextIOWrapper):
    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8")


def test_what_can_be_mended_is_marked(folder: Path, capsys: Captured) -> None:
    (folder / "a.py").write_text(WRONG, encoding="utf-8")
    assert main(["lint", "."]) == 1
    out, err = capsys.readouterr()
    marked = ["[*]" in line for line in out.splitlines()]
    assert marked.count(True) == 3
    assert marked.count(False) == 1, "the doubled psum has no one answer"
    assert err.splitlines()[-1] == "[*] 3 can be fixed by `jaxmigrate lint --fix`"
    assert (folder / "a.py").read_text(encoding="utf-8") == WRONG
    assert main(["lint", ".", "-q"]) == 1
    assert capsys.readouterr().err == ""


def test_it_mends_until_nothing_is_left_to_mend(folder: Path, capsys: Captured) -> None:
    (folder / "a.py").write_text(WRONG, encoding="utf-8")
    assert main(["lint", "--fix", "."]) == 1
    out, err = capsys.readouterr()
    assert (folder / "a.py").read_text(encoding="utf-8") == MENDED
    (left,) = out.splitlines()
    assert left.startswith("a.py:6:18 JM202 psum of a value")
    assert err.startswith("fixed 3 findings in 1 file; 1 left\n1 finding in 1 file, 1 file checked")
    assert "[*]" not in err
    assert main(["lint", "--fix", "."]) == 1
    assert (folder / "a.py").read_text(encoding="utf-8") == MENDED
    assert "fixed" not in capsys.readouterr().err


def test_nothing_left_is_0(folder: Path, capsys: Captured) -> None:
    (folder / "a.py").write_text(ONE)
    assert main(["lint", "--fix", "a.py"]) == 0
    assert (folder / "a.py").read_text() == RIGHT
    assert capsys.readouterr().err.startswith("fixed 1 finding in 1 file; 0 left\nno findings, 1 file checked")


def test_the_diff_writes_nothing(folder: Path, capsys: Captured) -> None:
    (folder / "a.py").write_text(WRONG, encoding="utf-8")
    assert main(["lint", "--fix", "--diff", "."]) == 1
    out, err = capsys.readouterr()
    assert (folder / "a.py").read_text(encoding="utf-8") == WRONG
    assert out.startswith("--- a/a.py\n+++ b/a.py\n")
    assert '+    mean = jax.lax.pmean(batch, "batch")\n' in out
    assert err == "would fix 3 findings in 1 file; 1 left\n"
    (folder / "a.py").write_text(ONE)
    assert main(["lint", "--fix", "--diff", "."]) == 1
    (folder / "a.py").write_text(RIGHT)
    capsys.readouterr()
    assert main(["lint", "--fix", "--diff", "."]) == 0
    assert capsys.readouterr() == ("", "nothing to fix; 0 left\n")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encoding_and_line_ends_stay(folder: Path, end: str, encoding: str) -> None:
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else ""
    before, after = ((cookie + text).replace("\n", end).encode(encoding) for text in (WRONG, MENDED))
    (folder / "a.py").write_bytes(before)
    assert main(["lint", "--fix", "."]) == 1
    assert (folder / "a.py").read_bytes() == after


def test_notebooks(folder: Path, capsys: Captured) -> None:
    text = book(FIRST, MAPPED.format(comment="  # a slip"))
    (folder / "a.ipynb").write_text(text)
    assert main(["lint", "--format", "json", "."]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    (edit,) = found["fix"]["edits"]
    assert (edit["cell"], edit["line"], edit["column"]) == (3, 3, 28)
    assert main(["lint", "--fix", "--diff", "."]) == 1
    assert capsys.readouterr().out.startswith("--- a.ipynb:cell 3\n")
    assert main(["lint", "--fix", "."]) == 0
    assert (folder / "a.ipynb").read_text() == text.replace("bacth", "batch")


def test_the_json_has_the_edits(folder: Path, capsys: Captured) -> None:
    (folder / "a.py").write_text(WRONG, encoding="utf-8")
    for _ in range(2):  # the second time from the cache
        assert main(["lint", "--format", "json", "."]) == 1
        found = json.loads(capsys.readouterr().out)["findings"]
        assert ["fix" in one for one in found] == [True, True, True, False]
    assert found[2]["fix"] == {
        "title": "write 'batch'",
        "path": "a.py",
        "edits": [
            {
                "operation": "replace",
                "kind": "Constant",
                "line": 5,
                "column": 47,
                "end_line": 5,
                "end_column": 54,
                "code": '"batch"',
            }
        ],
    }


def test_comments_selection_and_configuration_are_respected(folder: Path) -> None:
    silent = ONE.replace("'batch')\n", "'batch')  # jaxmigrate: ignore[JM101]\n")
    (folder / "a.py").write_text(silent)
    assert main(["lint", "--fix", "."]) == 0
    assert (folder / "a.py").read_text() == silent
    for options in (["--ignore", "JM101"], ["--select", "JM2"]):
        (folder / "a.py").write_text(ONE)
        assert main(["lint", "--fix", *options, "."]) == 0
        assert (folder / "a.py").read_text() == ONE
    (folder / "pyproject.toml").write_text('[tool.jaxmigrate]\nper-file-ignores = {"a.py" = ["JM1"]}\n')
    assert main(["lint", "--fix", "."]) == 0
    assert (folder / "a.py").read_text() == ONE


def test_what_the_baseline_has_stays(folder: Path, capsys: Captured) -> None:
    (folder / "a.py").write_text(ONE)
    assert main(["lint", ".", "--baseline", "known.json", "--write-baseline"]) == 0
    (folder / "b.py").write_text(ONE.replace("bacth", "batsh"))
    assert main(["lint", "--fix", ".", "--baseline", "known.json"]) == 0
    assert (folder / "a.py").read_text() == ONE
    assert (folder / "b.py").read_text() == RIGHT
    assert "1 finding already in the baseline known.json" in capsys.readouterr().err


def test_a_fix_in_another_file_is_made_if_that_was_given(folder: Path) -> None:
    layer = "import jax\n\n\ndef mean(batch):\n    return jax.lax.pmean(batch, 'bacth')\n"
    (folder / "layer.py").write_text(layer)
    (folder / "main.py").write_text("import jax\nimport layer\n\np = jax.pmap(layer.mean, axis_name='batch')\n")
    main(["lint", "--fix", "main.py"])
    assert (folder / "layer.py").read_text() == layer
    assert main(["lint", "--fix", "main.py", "layer.py"]) == 0
    assert (folder / "layer.py").read_text() == layer.replace("bacth", "batch")


def test_many_files_are_mended_by_several_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxmigrate.lint.pool.workers", lambda _files: 2)
    for name in "ab":
        (folder / name).mkdir()
        for number in range(130):
            (folder / name / f"m{number}.py").write_text(ONE)
    assert main(["lint", "--fix", "."]) == 0
    assert {path.read_text() for path in folder.rglob("*.py")} == {RIGHT}


def test_standard_input_becomes_standard_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(WRONG))
    assert main(["lint", "--fix", "-", "--stdin-filename", "a.py"]) == 1
    out, err = capsys.readouterr()
    assert out == MENDED
    assert err.startswith("a.py:6:18 JM202 psum of a value")
    assert "fixed 3 findings in 1 file; 1 left" in err
    monkeypatch.setattr(sys, "stdin", Stdin(RIGHT))
    assert main(["lint", "--fix", "-"]) == 0
    assert capsys.readouterr().out == RIGHT


def test_without_libcst_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setitem(sys.modules, "libcst", None)
    (folder / "a.py").write_text(ONE)
    assert main(["lint", "--fix", "."]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--fix writes with LibCST, which is not installed: pip install libcst" in line
    assert (folder / "a.py").read_text() == ONE
    (folder / "a.py").write_text(RIGHT)
    assert main(["lint", "--fix", "."]) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everything")
def test_a_folder_that_cannot_be_written_to(folder: Path, capsys: Captured) -> None:
    (folder / "a.py").write_text(ONE)
    folder.chmod(0o555)
    try:
        assert main(["lint", "--fix", "--no-cache", "."]) == 1
    finally:
        folder.chmod(0o755)
    assert "a.py:4:28 JM101 was not fixed: the file cannot be written" in capsys.readouterr().err


def test_a_read_only_file_stays_and_costs_no_other(folder: Path, capsys: Captured) -> None:
    for name in "ab":
        (folder / f"{name}.py").write_text(ONE)
    (folder / "a.py").chmod(0o444)
    assert main(["lint", "--fix", "."]) == 1
    out, err = capsys.readouterr()
    assert (folder / "a.py").read_text() == ONE
    assert (folder / "b.py").read_text() == RIGHT
    assert out.startswith("a.py:4:28 JM101 psum: ")
    assert "a.py:4:28 JM101 was not fixed: the file cannot be written" in err
    assert "fixed 1 finding in 1 file; 1 left" in err


def test_a_file_that_changes_meanwhile_stays(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    (folder / "a.py").write_text(ONE)

    def meanwhile(*given: Any) -> object:
        (folder / "a.py").write_text("# new\n" + ONE)
        return applied(*given)

    monkeypatch.setattr("jaxmigrate.commands.lint_fixes.applied", meanwhile)
    assert main(["lint", "--fix", "."]) == 2
    assert (folder / "a.py").read_text() == "# new\n" + ONE
    assert "changed since it was read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--diff"], "--diff shows what --fix would write: give both"),
        (["--fix", "--diff", "--format", "json"], "--diff prints a diff alone"),
        (["--fix", "--docs"], "--docs reads documentation"),
        (["--fix", "--shard", "1/2"], "--shard reports on a part of the files"),
        (["--fix", "--baseline", "x", "--write-baseline"], "--write-baseline keeps all findings"),
        (["--fix", "-"], "--fix mends standard input by itself"),
    ],
)
def test_options_that_contradict_one_another(folder: Path, capsys: Captured, arguments: list[str], said: str) -> None:
    assert main(["lint", *arguments, "."]) == 2
    assert said in capsys.readouterr().err


def test_documentation_has_no_fixes(folder: Path, capsys: Captured) -> None:
    (folder / "a.md").write_text(f"```python\n{ONE}```\n")
    assert main(["lint", "--docs", "."]) == 1
    out, err = capsys.readouterr()
    assert "JM101 psum" in out
    assert "--fix" not in err


def test_the_hook_mends_what_is_staged(folder: Path) -> None:
    (folder / "a.py").write_text(ONE)
    (folder / "b.py").write_text(ONE)
    entry = shlex.split(hooks()["jaxmigrate-lint"]["entry"])[1:]
    assert main([*entry, "--fix", "a.py"]) == 0  # as pre-commit calls it with `args: [--fix]`
    assert (folder / "a.py").read_text() == RIGHT
    assert (folder / "b.py").read_text() == ONE


TEXT = "f(x, 'a')\n"
PLACE = Span("Constant", 1, 6, 1, 9)


def fix(code: str, place: Span = PLACE) -> Fix:
    return Fix(f"write {code}", "a.py", (Edit("replace", place, code),))


def test_two_answers_are_none() -> None:
    text, _, left = applied(decode(TEXT.encode(), "a.py", Path("a.py")), [fix("'b'"), fix("'c'"), fix("'c'")])
    assert text == TEXT
    assert set(left.values()) == {"conflicts with another fix in the same place"}
    assert len(left) == 2


def test_what_does_not_parse_or_is_not_there_costs_itself_alone() -> None:
    call = Span("Call", 1, 1, 1, 10)
    wrong = [fix("g(", call), fix("1", Span("Name", 7, 1, 7, 2))]
    named = Fix("name it", "a.py", (Edit("set-keyword", call, "2", "n"),))
    text, _, left = applied(decode(TEXT.encode(), "a.py", Path("a.py")), [wrong[1], named, fix("'b'")])
    assert text == "f(x, 'b', n=2)\n"
    assert list(left) == [wrong[1]]
    text, _, left = applied(decode(TEXT.encode(), "a.py", Path("a.py")), [wrong[0]])
    assert text == TEXT
    assert list(left) == [wrong[0]]


def test_fixes_within_one_another_are_both_made() -> None:
    whole, inner = Span("Call", 1, 1, 1, 10), Span("Name", 1, 3, 1, 4)
    around = Fix("jit", "a.py", (Edit("replace", whole, "jit($itself)"),))
    text, _, left = applied(decode(TEXT.encode(), "a.py", Path("a.py")), [around, fix("y", inner), fix("'b'")])
    assert (text, left) == ("jit(f(y, 'b'))\n", {})
