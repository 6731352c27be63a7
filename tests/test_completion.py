"""Shells complete commands, options and values."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from jaxmigrate.cli import main

BASH = shutil.which("bash")


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(BASH is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        (["jaxmigrate", "li"], {"lint"}),
        (["jaxmigrate", "--ver"], {"--version"}),
        (["jaxmigrate", "fix", "--lay"], {"--layout"}),
        (["jaxmigrate", "fix", "src", "--layout", ""], {"auto", "likely", "stacked"}),
        (["jaxmigrate", "lint", "--format", "js"], {"json"}),
        (["jaxmigrate", "status", "--format", "m"], {"markdown"}),
        (["jaxmigrate", "rule", "JM49"], {"JM490", "JM491"}),
        (["jaxmigrate", "completion", "z"], {"zsh"}),
        (["jaxmigrate", "fix", "s"], set()),  # files, which the shell completes
        (["jaxmigrate", "fix", ".", "--verify", "--", "--lay"], set()),  # of another program
    ],
)
def test_bash(line: list[str], completed: set[str], script: str) -> None:
    words = " ".join(f"'{word}'" for word in line)
    code = f'{script}COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _jaxmigrate; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run([BASH or "", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == completed


def test_zsh_takes_the_same(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out == f"autoload -U +X bashcompinit && bashcompinit\n{script}"


def test_fish_knows_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(re.fullmatch(r"complete -c jaxmigrate( -f)? -n '[\w ]+' [^']*('[^']*'[^']*)*", line) for line in lines)
    options = {option for line in lines for option in re.findall(r" -l ([\w-]+)", line)}
    assert {"help", "version", "layout", "verify", "baseline", "twice", "interactive", "quiet"} <= options
