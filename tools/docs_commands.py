"""Runs the commands that a page of the documentation shows, and puts what they print into it.

In a `console` block each line that begins with `$ ` is a command, and what follows up to the next such line is its
output. In an `sh` block each line is a command, which has to succeed. The commands of a page run in one shell, in a new
home folder that holds a copy of the checkout, `~/jaxmigrate`, as a reader has after `git clone`; `pip install` changes
nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CHECKOUT = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "jaxmigrate", "rules", "fixtures/demo")
BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (
    (re.compile(r"\b(?:\d+ min )?\d+(?:\.\d)? s\b"), "# s"),
    (re.compile(r"\b\d+\.\d+\.\d+(?:\.\w+)?\b"), "#.#.#"),
    (re.compile(r"\b[0-9a-f]{7}\b"), "#######"),
)
PROGRESS = re.compile(r"^  running .*\d s .*\n", re.MULTILINE)  # as often as the machine is slow
END = re.compile(r"\n--- status (\d+)\n")


def commands(text: str) -> Iterator[str]:
    """The commands of a page, in order."""
    for block in BLOCK.finditer(text):
        yield from _commands(block)


def _commands(block: re.Match[str]) -> list[str]:
    lines = block[2].splitlines()
    return lines if block[1] == "sh" else [line[2:] for line in lines if line.startswith("$ ")]


def home(folder: Path) -> Path:
    """A new home folder below a folder, with the checkout in it."""
    checkout = folder / "jaxmigrate"
    leave = shutil.ignore_patterns("__pycache__", ".jaxmigrate_cache")
    for name in CHECKOUT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, checkout / name, ignore=leave)
        else:
            checkout.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, checkout)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """What the commands of a page see: this Python first on the PATH, and nothing of the user's own settings."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("GIT_", "PIP_", "PYTHON", "XLA_"))}
    who = {f"GIT_{role}_{part}": "reader" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    pip = {"PIP_DRY_RUN": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
    return {
        **kept,
        **who,
        **pip,
        "HOME": str(folder),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(folder / ".compiled"),
        "NPROC": "64",
        "COLUMNS": "120",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


class Output(NamedTuple):
    """What a command printed, the errors as on a terminal, and its exit status."""

    text: str
    status: int


def outputs(every: list[str], folder: Path) -> list[Output]:
    """What becomes of some commands, one after the other in one shell.

    Raises:
        RuntimeError: The shell ended before the last one.
    """
    script = "".join(f'{command}\nprintf "\\n--- status %d\\n" $?\n' for command in every)
    both = subprocess.run(
        ["bash", "-c", f"cd; {script}"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = END.split(both.stdout.decode())
    if len(said) != 2 * len(every) + 1:
        raise RuntimeError(f"{len(said) // 2} of {len(every)} commands were run; the last printed {said[-1]!r}")
    return [Output(PROGRESS.sub("", text), int(status)) for text, status in zip(said[::2], said[1::2], strict=False)]


def rerun(text: str, folder: Path) -> str:
    """The page with the outputs of now.

    Raises:
        RuntimeError: A command of an `sh` block failed.
    """
    every = outputs(list(commands(text)), folder)

    def block(match: re.Match[str]) -> str:
        shown = []
        for command in _commands(match):
            output = every.pop(0)
            if match[1] == "console":
                shown.append(f"$ {command}\n{output.text}")
            elif output.status:
                raise RuntimeError(f"{command!r} failed: {output.text}")
        return match[0] if match[1] == "sh" else f"```console\n{''.join(shown)}```"

    return BLOCK.sub(block, text)


def steady(text: str) -> str:
    """A page without what is another at each run: times, versions, and commits."""
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return text
