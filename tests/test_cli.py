"""The command line's contract: what is printed where, what is written, and the exit status."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxmigrate import __version__
from jaxmigrate.cli import main
from jaxmigrate.commands import linted
from jaxmigrate.findings import Finding
from jaxmigrate.lint.cache import Examined
from jaxmigrate.lint.pool import Surroundings, Work, examine_all

PMAPPED = "import jax\n\nf = jax.pmap(lambda x: jax.lax.psum(x, 'i'), axis_name='i')\n"
CLEAN = "import jax\n\n\ndef f(x):\n    return x + 1\n"
# jax.pmap itself is read as an attribute, which nothing can stand in for.
LEFT = "import jax\n\nprint(jax.pmap.__doc__)\n"

WAITING = """
import sys, time
import jaxmigrate.cli, jaxmigrate.commands.rule

def run(options):
    print("ready", flush=True)
    time.sleep(60)

jaxmigrate.commands.rule.run = run
sys.exit(jaxmigrate.cli.main(["rule"]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stdin(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


class TestArguments:
    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"jaxmigrate {__version__}\n"

    @pytest.mark.parametrize(
        "arguments", [["--help"], ["lint", "--help"], ["fix", "-h"], ["verify", "-h"], ["rule", "-h"]]
    )
    def test_help_names_the_exit_statuses(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(arguments) == 0
        assert "exit status:" in capsys.readouterr().out

    @pytest.mark.parametrize("arguments", [["--help"], ["--help", "lint"]])
    def test_help_lists_every_command(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(arguments) == 0
        listed = re.findall(r"^    (\w+)(?: {2,}|$)", capsys.readouterr().out, re.MULTILINE)
        assert listed == ["lint", "fix", "verify", "status", "merge", "rule", "server", "completion"]

    def test_help_is_as_wide_as_the_terminal(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        widths = []
        for columns in ("70", "140"):
            monkeypatch.setenv("COLUMNS", columns)
            assert main(["fix", "--help"]) == 0
            options = capsys.readouterr().out.partition("options:")[2].partition("exit status:")[0]
            widths.append(max(map(len, options.splitlines())))
        assert 60 < widths[0] <= 70 < 120 < widths[1] <= 140

    @pytest.mark.parametrize(
        "command", ["", "lint", "fix", "verify", "status", "merge", "rule", "server", "completion"]
    )
    def test_help_fits_80_columns(
        self, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        assert main([*command.split(), "--help"]) == 0
        assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []

    @pytest.mark.parametrize("command", ["lint", "fix"])
    def test_the_current_folder_is_the_default(
        self, command: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "a.py").write_text(PMAPPED)
        assert main([command]) == 0
        told = capsys.readouterr()
        assert "1 file" in told.out + told.err
        assert ((folder / "a.py").read_text() == PMAPPED) == (command == "lint")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "required: COMMAND"),
            (["frobnicate"], "invalid choice: 'frobnicate'"),
            (["lint", "--devices", "3", "a.py"], "jaxmigrate lint: error: unrecognized arguments: --devices"),
            (["lint", "--format", "yaml", "a.py"], "invalid choice: 'yaml'"),
            (["lint", "--select", "E501", "a.py"], "'E501' is not a rule code"),
            (["lint", "--ignore", "JM9", "a.py"], "no rule's code is or begins with 'JM9'"),
            (["lint", "--statistics", "--format", "sarif", "."], "--statistics goes with"),
            (["fix", "--diff", "--check", "."], "not allowed with argument"),
            (["fix", "--layout", "global", "."], "invalid choice: 'global'"),
            (["fix", "--target-jax", "0.4", "."], "0.6.1 is the first"),
            (["fix", "--report", "out.txt", "."], "must end in .json, .xml, .md or .html"),
            (["fix", ".", "--", "python", "a.py"], "only run by --verify"),
            (["fix", "--verify", "-", "--", "python"], "standard input (-) cannot be combined"),
            (["fix", ".", "--verify", "python", "a.py"], "behind `--`: `jaxmigrate fix --verify -- python a.py`"),
            (["fix", "a.py", "--verify"], "nothing to run"),
            (["rule", "jax.pmap"], "there is no rule 'jax.pmap'"),
            (["verify", ".", "--devices", "0", "--", "true"], "'0' is not a whole number"),
            (["verify", ".", "--timeout", "nan", "--", "true"], "'nan' is not a number of seconds"),
            (["verify", "-", "--", "true"], "standard input cannot be verified"),
            (["rule", "JM999"], "there is no rule 'JM999'"),
        ],
    )
    def test_wrong_ones_are_told_in_one_line(
        self,
        arguments: list[str],
        words: str,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        stdin(monkeypatch, PMAPPED.encode())
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 1
        assert err.startswith("jaxmigrate")
        assert words in err

    def test_configuration_errors_name_the_place(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "pyproject.toml").write_text("[tool.jaxmigrate]\nselekt = []\n")
        assert main(["fix", "--check", "."]) == 2
        assert f"{folder / 'pyproject.toml'}:2: tool.jaxmigrate.selekt" in capsys.readouterr().err


class TestFailures:
    def test_internal_errors_are_one_line_with_what_is_known(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def broken(*args: object) -> None:
            error = ZeroDivisionError("oh\nno")
            error.add_note("in a.py")
            raise error

        (folder / "a.py").write_text(CLEAN)
        monkeypatch.setattr(linted, "examine_all", broken)
        assert main(["lint", "a.py"]) == 2
        out, err = capsys.readouterr()
        assert (out, err) == (
            "",
            "jaxmigrate: error: internal error: ZeroDivisionError: oh no, in a.py (--verbose shows where)\n",
        )
        assert main(["lint", "--verbose", "a.py"]) == 2
        assert "Traceback" in capsys.readouterr().err
        monkeypatch.setenv("JAXMIGRATE_DEBUG", "1")
        assert main(["lint", "a.py"]) == 2
        assert "Traceback" in capsys.readouterr().err

    def test_missing_modules_are_named(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "jaxmigrate.commands.rule", None)
        monkeypatch.setattr("jaxmigrate.cli.importlib.import_module", _import_nothing)
        assert main(["rule"]) == 2
        assert capsys.readouterr().err == "jaxmigrate: error: needs the module nonesuch, which is not installed\n"

    @pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (BrokenPipeError(), 141)])
    def test_interruptions_are_quiet(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        error: BaseException,
        status: int,
    ) -> None:
        def stopped(*args: object) -> None:
            raise error

        (folder / "a.py").write_text(CLEAN)
        monkeypatch.setattr(linted, "examine_all", stopped)
        monkeypatch.setattr("jaxmigrate.cli._discard_output", lambda: None)
        assert main(["lint", "a.py"]) == status
        assert capsys.readouterr() == ("", "")

    def test_a_reader_that_leaves_early_is_no_error(self, folder: Path) -> None:
        long = f"# {'-' * 9999}\n"  # more than a pipe holds, in the lines around what changes
        for number in range(20):
            (folder / f"module_{number}.py").write_text(PMAPPED + long)
        process = subprocess.Popen(
            [sys.executable, "-m", "jaxmigrate", "fix", "--diff", "."], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait(60) == 141
        assert "Traceback" not in errors
        assert "BrokenPipe" not in errors

    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_signals_end_it_quietly(self, folder: Path, number: signal.Signals, status: int) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (status, b"", b"")


def _import_nothing(name: str) -> None:
    raise ModuleNotFoundError("No module named 'nonesuch'", name="nonesuch")


class TestFix:
    def test_rewrites_in_place_and_is_then_done(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(PMAPPED)
        (folder / "b.py").write_text(CLEAN)
        assert main(["fix", "."]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "a.py: rewrote 1 site",
            "  line 3: all stacked: fix sees no call of the mapped function",
            "1 site in 1 file: 1 rewritten, 0 left",
        ]
        once = (folder / "a.py").read_text()
        assert "jax.shard_map(" in once
        assert "jax.pmap(" not in once
        assert (folder / "b.py").read_text() == CLEAN
        assert main(["fix", "."]) == 0
        assert capsys.readouterr().out == "0 sites in 0 files: 0 rewritten, 0 left\n"
        assert (folder / "a.py").read_text() == once
        assert sorted(os.listdir(folder)) == ["a.py", "b.py"]

    def test_check_writes_nothing(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(PMAPPED)
        assert main(["fix", "--check", "a.py"]) == 1
        assert capsys.readouterr().out.splitlines() == [
            "a.py: would rewrite 1 site",
            "  line 3: all stacked: fix sees no call of the mapped function",
            "1 site in 1 file: 1 would be rewritten, 0 left",
        ]
        assert (folder / "a.py").read_text() == PMAPPED
        (folder / "a.py").write_text(CLEAN)
        assert main(["fix", "--check", "a.py"]) == 0

    @pytest.mark.parametrize(
        "raw",
        [
            PMAPPED.encode(),
            PMAPPED.replace("\n", "\r\n").encode(),
            PMAPPED.rstrip("\n").encode(),
            b"\xef\xbb\xbf" + PMAPPED.encode(),
            b"# coding: latin-1\n# \xe9\n" + PMAPPED.encode(),
        ],
        ids=["plain", "crlf", "no final newline", "bom", "latin-1"],
    )
    @pytest.mark.parametrize("name", ["a.py", "a b.py", "dir/é.py"])
    def test_the_diff_applies_and_gives_what_fix_writes(
        self, folder: Path, raw: bytes, name: str, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        (folder / "dir").mkdir()
        file = folder / name
        file.write_bytes(raw)
        assert main(["fix", "--diff", name]) == 0
        diff = capfdbinary.readouterr().out
        assert file.read_bytes() == raw
        assert main(["fix", name]) == 0
        written = file.read_bytes()
        assert written != raw
        file.write_bytes(raw)
        subprocess.run(["git", "apply", "-"], input=diff, cwd=folder, check=True, env={**os.environ, "GIT_DIR": "none"})
        assert file.read_bytes() == written

    def test_the_diff_stands_alone_on_standard_output(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(PMAPPED + "\nprint(jax.pmap.__doc__)\n")
        assert main(["fix", "--diff", "a.py"]) == 1
        out, err = capsys.readouterr()
        assert out.startswith("--- a/a.py\n+++ b/a.py\n@@ ")
        assert all(line[:1] in ("-", "+", " ", "@") for line in out.splitlines())
        assert "2 sites in 1 file: 1 would be rewritten, 1 left" in err
        assert "a.py:5:7 JM" in err

    def test_sites_that_stay_are_listed(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(LEFT)
        assert main(["fix", "a.py"]) == 1
        listed, summary = capsys.readouterr().out.splitlines()
        assert listed.startswith("a.py:3:7 JM4")
        assert summary == "1 site in 1 file: 0 rewritten, 1 left"
        assert (folder / "a.py").read_text() == LEFT

    def test_standard_input_becomes_standard_output(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        (folder / "a.py").write_bytes(PMAPPED.replace("\n", "\r\n").encode())
        assert main(["fix", "a.py"]) == 0
        capfdbinary.readouterr()
        stdin(monkeypatch, PMAPPED.replace("\n", "\r\n").encode())
        assert main(["fix", "-"]) == 0
        out, err = capfdbinary.readouterr()
        assert out == (folder / "a.py").read_bytes()
        assert err == b"1 site in 1 file: 1 rewritten, 0 left\n"

    def test_standard_input_that_does_not_parse_passes_through(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        stdin(monkeypatch, b"print 'pmap'\n")
        assert main(["fix", "-"]) == 2
        out, err = capfdbinary.readouterr()
        assert out == b"print 'pmap'\n"
        assert b"<stdin>:1:1: cannot be parsed" in err

    def test_what_cannot_be_worked_on_is_told_once_and_stops_nothing(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "a.py").write_text(PMAPPED)
        (folder / "binary.py").write_bytes(b"x = '\xff'\n")
        (folder / "broken.py").write_text("def pmap(:\n")
        (folder / "locked.py").write_text(PMAPPED)
        (folder / "locked.py").chmod(0o444)
        (folder / "book.ipynb").write_text("{}")
        assert main(["fix", ".", "nowhere.py"]) == 2
        out, err = capsys.readouterr()
        assert "a.py: rewrote 1 site\n" in out
        assert "locked.py:3:5 JM490 is read-only" in out
        assert "2 sites in 2 files: 1 rewritten, 1 left" in out
        assert err.splitlines() == [
            "nowhere.py: no such file or directory",
            "binary.py:1:6: byte 0xff is not utf-8; declare the file's encoding or save it as UTF-8",
            "book.ipynb: is JSON but not a notebook: it has no list of cells",
            "broken.py:1:10: cannot be parsed: invalid syntax",
            "locked.py: is read-only, so it was not rewritten",
        ]
        assert (folder / "locked.py").read_text() == PMAPPED
        assert (folder / "broken.py").read_text() == "def pmap(:\n"

    def test_excluded_files_are_left_out(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "pyproject.toml").write_text('[tool.jaxmigrate]\nexclude = ["old"]\n')
        (folder / "old").mkdir()
        (folder / "old" / "a.py").write_text(PMAPPED)
        assert main(["fix", "--check", "."]) == 0
        assert main(["fix", "--check", "--force-exclude", "old/a.py"]) == 0
        assert main(["fix", "--check", "old/a.py"]) == 1
        assert main(["fix", "--check", "old"]) == 1
        assert main(["fix", "--check", "--force-exclude", "old"]) == 0

    def test_reports(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(PMAPPED)
        (folder / "b.py").write_text(LEFT)
        names = [f"out/report.{ending}" for ending in ("json", "xml", "md", "html")]
        assert main(["fix", "--check", ".", *(part for name in names for part in ("--report", name))]) == 1
        document = json.loads((folder / names[0]).read_text())
        counts = {"sites": 2, "rewritten": 1, "left": 1, "kept": 0, "files_changed": 1}
        assert document["summary"] == {**counts, "grade": "proven"}
        first, second = document["sites"]
        assert (first["path"], first["line"], first["axis"], first["status"]) == ("a.py", 3, "i", "rewritten")
        assert (second["path"], second["status"]) == ("b.py", "left")
        assert second["reason"]
        assert second["code"].startswith("JM4")
        assert "shard_map" in document["files"][0]["diff"]
        for name in names[1:]:
            assert "b.py:3" in (folder / name).read_text()

    def test_reports_that_cannot_be_written(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(CLEAN)
        assert main(["fix", "a.py", "--report", "a.py/report.json"]) == 2
        assert "the report a.py/report.json cannot be written" in capsys.readouterr().err


def finding(path: str, code: str = "JM101", line: int = 1) -> Finding:
    return Finding(path, line, 1, code, f"message of {code}")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file has the same two findings, so that what is shown depends on the command line alone."""

    def everywhere(names: list[str]) -> tuple[Finding, ...]:
        return tuple(finding(name, code, line) for name in names for code, line in (("JM301", 2), ("JM101", 1)))

    def examined(works: Sequence[Work], surroundings: Sequence[Surroundings]) -> list[Examined]:
        plain = examine_all(works, surroundings)
        named = [
            {name for name, _ in work.piece.files} - {error.path for error in one.errors}
            for work, one in zip(works, plain, strict=True)
        ]
        return [one._replace(findings=everywhere(sorted(names))) for one, names in zip(plain, named, strict=True)]

    monkeypatch.setattr(linted, "examine_all", examined)
    stdin = lambda source, *_, **__: Examined(everywhere([source.name]), (), {})  # noqa: E731
    monkeypatch.setattr(linted, "examine_text", stdin)


@pytest.mark.usefixtures("planted")
class TestLint:
    def test_text(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("b.py", "a.py"):
            (folder / name).write_text(CLEAN)
        assert main(["lint", "."]) == 1
        out, err = capsys.readouterr()
        assert out.splitlines() == [
            "a.py:1:1 JM101 message of JM101",
            "a.py:2:1 JM301 message of JM301",
            "b.py:1:1 JM101 message of JM101",
            "b.py:2:1 JM301 message of JM301",
        ]
        assert err == "4 findings in 2 files, 2 files checked\n"

    @pytest.mark.parametrize(
        ("arguments", "table", "codes"),
        [
            ([], "", ["JM101", "JM301"]),
            (["--select", "JM1"], "", ["JM101"]),
            (["--ignore", "jm1"], "", ["JM301"]),
            (["--select", "JM1", "--ignore", "JM101"], "", []),
            ([], 'ignore = ["JM3"]', ["JM101"]),
            (["--ignore", "JM1"], 'ignore = ["JM3"]', []),
            (["--select", "JM3"], 'ignore = ["JM3"]', ["JM301"]),
            ([], 'per-file-ignores = {"a.py" = ["JM1"]}', ["JM301"]),
        ],
    )
    def test_selection(
        self, arguments: list[str], table: str, codes: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "pyproject.toml").write_text(f"[tool.jaxmigrate]\n{table}\n")
        (folder / "a.py").write_text(CLEAN)
        assert main(["lint", "a.py", *arguments]) == (1 if codes else 0)
        assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == codes

    def test_suppression(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text("x = 1  # jaxmigrate: ignore[JM101]\ny = 2  # jaxmigrate: ignore\n")
        assert main(["lint", "a.py"]) == 0
        assert capsys.readouterr() == ("", "no findings, 1 file checked\n")

    def test_statistics(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(CLEAN)
        assert main(["lint", "--statistics", "a.py"]) == 1
        assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [["1", "JM101"], ["1", "JM301"]]

    @pytest.mark.parametrize("name", ["json", "sarif"])
    def test_machine_formats_stand_alone(self, name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(CLEAN)
        assert main(["lint", "--format", name, "a.py"]) == 1
        out, err = capsys.readouterr()
        assert "JM301" in json.dumps(json.loads(out))
        assert err == ""

    def test_each_project_follows_its_own_configuration(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name, code in (("one", "JM1"), ("two", "JM3")):
            (folder / name).mkdir()
            (folder / name / "a.py").write_text(CLEAN)
            (folder / name / "pyproject.toml").write_text(f'[tool.jaxmigrate]\nselect = ["{code}"]\n')
        assert main(["lint", "one", "two", "one/a.py"]) == 1
        places = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
        assert places == [["one/a.py:1:1", "JM101"], ["two/a.py:2:1", "JM301"]]

    def test_standard_input(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        stdin(monkeypatch, CLEAN.encode())
        assert main(["lint", "-"]) == 1
        assert capsys.readouterr().out.startswith("<stdin>:1:1 JM101")

    def test_file_that_is_not_there(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["lint", "nowhere.py"]) == 2
        assert capsys.readouterr().err == "nowhere.py: no such file or directory\n"

    def test_files_that_cannot_be_read(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(CLEAN)
        (folder / "b.py").write_bytes(b"\0")
        (folder / "c.ipynb").write_text("{}")
        assert main(["lint", "."]) == 2
        out, err = capsys.readouterr()
        assert "a.py:1:1 JM101" in out
        assert err.splitlines() == [
            "b.py:1:1: contains a null byte, which Python does not accept",
            "4 findings in 2 files, 2 of 3 files checked",
        ]


MISSPELT = """import jax


@jax.pmap
def nested(x):
    return x


def step(x):
    return jax.lax.psum(x, "bacth")


train = jax.pmap(step, axis_name="batch")
"""


class TestLintWithTheRules:
    def test_findings_suppression_and_selection(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "a.py").write_text(MISSPELT)
        assert main(["lint", "a.py"]) == 1
        out = capsys.readouterr().out
        assert out.startswith("a.py:10:12 JM101 ")
        assert "'batch'" in out
        assert main(["lint", "--ignore", "JM1", "a.py"]) == 0
        (folder / "a.py").write_text(MISSPELT.replace('"bacth")', '"bacth")  # jaxmigrate: ignore[JM101]'))
        assert main(["lint", "a.py"]) == 0

    def test_files_that_do_not_parse_are_named_where_they_could_matter(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "a.py").write_text("jax.pmap(:\n")
        (folder / "b.py").write_text("print 'no concern of ours'\n")
        assert main(["lint", "."]) == 2
        assert capsys.readouterr() == (
            "",
            "a.py:1:10: cannot be parsed: invalid syntax\nno findings, 1 of 2 files checked\n",
        )


@pytest.mark.parametrize("command", [["lint"], ["fix", "--check"]])
def test_what_python_says_of_the_code_it_parses_is_kept_quiet(folder: Path, command: list[str]) -> None:
    (folder / "a.py").write_text("import jax\nx = '\\d'\ny = x is 'a'\nf = jax.vmap(lambda pmap: pmap)\n# psum\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "jaxmigrate", *command, "a.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "arning" not in done.stderr
    assert "parse" not in done.stderr


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_lint_imports_neither_libcst_nor_jax_nor_what_the_others_need() -> None:
    loaded = modules_after("import jaxmigrate.cli, jaxmigrate.commands.lint")
    assert not loaded & {"jax", "jaxlib", "libcst", "numpy", "jaxmigrate.migrate", "jaxmigrate.verify"}


def test_a_run_of_lint_loads_little_of_the_standard_library(folder: Path) -> None:
    (folder / "a.py").write_text(MISSPELT)
    run = "from jaxmigrate.cli import main; assert main(['lint', '--no-cache', 'a.py']) == 1; print()"
    loaded = modules_after(run)
    assert "jaxmigrate.flow.facts" in loaded
    assert not loaded & {"dataclasses", "inspect", "tokenize", "shutil", "bz2", "json", "subprocess", "tempfile"}


def test_fix_does_not_import_jax() -> None:
    assert not modules_after("import jaxmigrate.commands.fix") & {"jax", "jaxlib", "numpy"}


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "jaxmigrate", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"jaxmigrate {__version__}\n"


class TestWhatIsSaidOfNothing:
    """Nothing found, nothing written, nothing readable: none of these may look like success."""

    @pytest.mark.parametrize("command", [["lint"], ["fix"], ["fix", "--check"]])
    def test_a_folder_without_python(
        self, command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "src").mkdir()
        (folder / "src" / "train.txt").write_text(PMAPPED)
        assert main([*command, "src"]) == 0
        assert "warning: no Python files or notebooks in src\n" in capsys.readouterr().err
        (folder / "src" / "train.py").write_text(CLEAN)
        assert main([*command, "src"]) == 0
        assert "warning" not in capsys.readouterr().err
        (folder / "pyproject.toml").write_text('[tool.jaxmigrate]\nexclude = ["train.py"]\n')
        assert main([*command, "src"]) == 0
        excludes = f"warning: {folder / 'pyproject.toml'} excludes 1 file in src, and there is no other\n"
        assert excludes in capsys.readouterr().err

    def test_documentation_that_is_not_there(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["fix", "--docs", "."]) == 0
        assert "warning: no documentation in .\n" in capsys.readouterr().err

    @pytest.mark.parametrize("mode", ["--check", "--diff"])
    def test_a_summary_says_that_nothing_was_written(
        self, mode: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "a.py").write_text(PMAPPED + "y = jax.tree_map(f, x)\n")
        main(["fix", mode, ".", "--report", "r.md"])
        told = capsys.readouterr()
        summary = "1 site in 1 file: 1 would be rewritten, 0 left; 1 old name: 1 would be replaced, 0 left"
        assert (told.out if mode == "--check" else told.err).splitlines()[-1] == summary
        assert summary in (folder / "r.md").read_text()
        main(["fix", "."])
        summary = "1 site in 1 file: 1 rewritten, 0 left; 1 old name: 1 replaced, 0 left"
        assert capsys.readouterr().out.splitlines()[-1] == summary

    @pytest.mark.parametrize("command", ["lint", "fix"])
    def test_a_merge_conflict_is_called_so(
        self, command: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        conflict = f"{PMAPPED}<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n"
        (folder / "a.py").write_text(conflict)
        (folder / "n.ipynb").write_text('{"jax pmap": [\n<<<<<<< HEAD\n1,\n=======\n2,\n>>>>>>> other\n3]}')
        assert main([command, "."]) == 2
        told = capsys.readouterr().err
        assert "a.py:4:1: cannot be parsed: a merge conflict that begins on line 4 is not resolved" in told
        assert "n.ipynb:2:1: is not JSON: a merge conflict that begins on line 2 is not resolved" in told

    def test_a_mistake_above_a_conflict_is_told_as_it_is(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "a.py").write_text(f"{PMAPPED}x = = 1\n<<<<<<< HEAD\n=======\n>>>>>>> other\n")
        assert main(["fix", "a.py"]) == 2
        assert "a.py:4:5: cannot be parsed: invalid syntax" in capsys.readouterr().err


COUNTING = """
import jax
import numpy as np

step = jax.pmap(lambda x: x - jax.lax.pmean(x, "i"), axis_name="i")
print(np.asarray(step(np.arange(jax.local_device_count() * 2.0).reshape(-1, 2))){asks})
"""


@pytest.mark.parametrize(
    ("asks", "declared", "told"),
    [("", "", True), (", jax.process_index()", "", False), ("", "[tool.jaxmigrate]\nprocesses = 2\n", False)],
)
def test_maps_that_are_written_for_one_process_say_so(
    asks: str, declared: str, told: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.py").write_text(COUNTING.format(asks=asks))
    (folder / "pyproject.toml").write_text(declared)
    assert main(["fix", "--diff", "a.py"]) == 0
    out, err = capsys.readouterr()
    assert ("note: a.py:6 counts local devices" in err + out) is told
    assert ("host_local" in out) is not told
