"""On a terminal there is colour unless declined, and nothing in a file can play tricks on it."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from jaxmigrate.commands.progress import progress_display
from jaxmigrate.terminal import indent_like, paint, plural, printable
from jaxmigrate.verify.model import Progress

PMAPPED = "import jax\n\nf = jax.pmap(lambda x: x)  # \x1b]0;title\x07\n"


def on_terminal(folder: Path, *arguments: str, script: str = "", **environment: str) -> str:
    """What jaxmigrate, or a script, shows on a pseudo-terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *([script] if script else ["-m", "jaxmigrate"]), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        env={**os.environ, "TERM": "xterm", **environment},
    )
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # the way in which Linux says that the other side is closed
        pass
    os.close(master)
    process.wait(60)
    return shown.decode()


def test_diffs_are_coloured_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PMAPPED)
    shown = on_terminal(tmp_path, "fix", "--diff", "a.py")
    assert "\x1b[31m-f = jax.pmap(lambda x: x)  # \ufffd]0;title\ufffd\x1b[0m" in shown
    assert "\x1b[1m--- a/a.py\x1b[0m" in shown


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_declined(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "a.py").write_text(PMAPPED)
    assert "\x1b" not in on_terminal(tmp_path, "fix", "--quiet", "--diff", "a.py", **environment)  # no progress


def test_characters_that_the_output_cannot_hold_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "é.py").write_text(PMAPPED)
    done = subprocess.run(
        [sys.executable, "-m", "jaxmigrate", "fix", "--check", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith(b"\\xe9.py: would rewrite 1 site\n")


def test_file_names_that_are_no_text_are_shown_somehow(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff\n.py", "w") as file:
        file.write(PMAPPED)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "jaxmigrate",
            "fix",
            ".",
            "--report",
            "r.json",
            "--report",
            "r.xml",
            "--report",
            "r.html",
        ],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == 3
    assert all((tmp_path / f"r.{ending}").exists() for ending in ("json", "xml", "html"))


def test_widths() -> None:
    assert indent_like("\ta日e\u0301") == "\t    "
    assert printable("a\tb\x1b\u202e") == "a\tb\ufffd\ufffd"
    assert (plural(1, "file"), plural(0, "file")) == ("1 file", "0 files")
    assert (paint("x", "31", on=True), paint("", "31", on=True), paint("x", "31", on=False)) == (
        "\x1b[31mx\x1b[0m",
        "",
        "x",
    )


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


STEPS = [
    Progress("copying", "original"),
    *[Progress("running", "original", n, 4, "train.py:3:8", 20.0 * n) for n in range(5)],
    Progress("ran", "original", 4, 4, "", 90.0),
    Progress("comparing"),
]


def test_progress_is_one_line_for_each_run_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := _Terminal())
    with progress_display() as show:
        for step in STEPS:
            show(step)
    shown = re.sub(r"\x1b\[[0-9;]*[mK]", "", screen.getvalue())
    assert [part.split("\r")[-1] for part in shown.split("\n")] == ["ran original: 4 mapped calls in 1 min 30 s", ""]
    assert "4 of 4 mapped calls, 1 min 20 s train.py:3\r" in shown
    assert screen.getvalue().endswith("\r\x1b[K")


def test_quiet_ends_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("import jax\n")
    assert main(["lint", "--quiet", "--no-cache", str(tmp_path)]) == 0
    test_progress_is_lines_elsewhere(monkeypatch)


def test_progress_is_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    with progress_display() as show:
        for step in STEPS:
            show(step)
    assert log.getvalue().splitlines() == [
        "  running original",
        "  running original [########--------] 2 of 4 mapped calls, 40.0 s train.py:3",
        "  running original [################] 4 of 4 mapped calls, 1 min 20 s train.py:3",
        "  ran original: 4 mapped calls in 1 min 30 s",
        "  comparing",
    ]


def test_reasons_are_as_wide_as_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import jax\n\nprint(jax.pmap.__doc__)\nf = jax.pmap(lambda x: x)\n")
    for columns in (50, 90):
        shown = on_terminal(tmp_path, "fix", "--check", "a.py", COLUMNS=str(columns))
        assert max(map(len, shown.splitlines())) <= columns
        assert ("\n    which no replacement has" in shown) == (columns == 50)


def test_findings_are_as_wide_as_the_terminal(tmp_path: Path) -> None:
    code = "def step(parameters, batch):\n    return jax.lax.pmean(parameters * batch.sum() + 1, axis_name='bacth')\n"
    (tmp_path / "a.py").write_text(f"import jax\n\n\n{code}\n\nf = jax.pmap(step, axis_name='batch')\n")
    for width in (50, 120):
        text = on_terminal(tmp_path, "lint", "--no-cache", "a.py", COLUMNS=str(width), NO_COLOR="1")
        shown = text.replace("\x1b[K", "").splitlines()  # a slow machine shows progress
        assert max(map(len, shown)) <= width
        assert ("a.py:5:12 JM101 [*] pmean: axis 'bacth' is not" in shown) == (width == 50)
        assert ("    bound here; did you mean 'batch'?" in shown) == (width == 50)
        assert "5 |     return jax.lax.pmean(parameters" in "\n".join(shown)


def test_colour_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import jax\n\nf = jax.pmap(lambda x: jax.lax.psum(x, 'j'), axis_name='i')\n")

    def coloured(**environment: str) -> bool:
        command = [sys.executable, "-m", "jaxmigrate", "lint", "--no-cache", "a.py"]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, check=False
        )
        return b"\x1b[" in done.stdout

    assert not coloured()
    assert coloured(FORCE_COLOR="1")
    assert not coloured(FORCE_COLOR="0")
    assert not coloured(FORCE_COLOR="1", NO_COLOR="1")


SLOW = """\
import sys, time
from jaxmigrate.commands import fix
from jaxmigrate.cli import main

def slow(*arguments, **options):
    end = time.monotonic() + 2.8
    while time.monotonic() < end:
        sum(range(1000))
    return real(*arguments, **options)

real, fix.plan_files = fix.plan_files, slow
sys.exit(main(["fix", "--check", "a.py", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("quiet", [False, True])
def test_what_takes_long_is_told(quiet: bool, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import jax\n")
    script = tmp_path / "slow"
    script.write_text(SLOW)
    shown = on_terminal(tmp_path, *(["-q"] if quiet else []), script=str(script))
    assert ("planning 1 file: 2 s" in shown) == (not quiet)
    assert shown.endswith("\r\x1b[K0 sites in 0 files: 0 rewritten, 0 left\r\n") == (not quiet)


def test_quiet_tells_only_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import jax\n\nf = jax.pmap(lambda x: x)\nprint(jax.pmap.__doc__)\n")
    command = [sys.executable, "-m", "jaxmigrate", "fix", "--check", "-q", "a.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "a.py:4:7 JM404 reads __doc__ of jax.pmap itself, which no replacement has; drop that and run fix again"
    ]
    assert done.stderr == ""
    command = [sys.executable, "-m", "jaxmigrate", "lint", "--no-cache", "-q", "a.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
