"""Runs the commands of docs/tutorial.md in a copy of fixtures/demo and puts what they print into it.

    python tools/docs_tutorial.py [--check]

Every `console` block is run in order, each line that begins with `$ ` by a shell, all in one folder; what follows up to
the next such line is its output. With `--check` nothing is written, and the exit status is 1 where an output differs in
more than a time.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
PROGRAM = ROOT / "fixtures" / "demo" / "before"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMES = re.compile(r"\b(?:\d+ min )?\d+(?:\.\d)? s\b")
PROGRESS = re.compile(r"^  running .*\d s .*\n", re.MULTILINE)  # as often as the machine is slow


def commands(text: str) -> Iterator[str]:
    """The commands of a page, in order."""
    for block in BLOCK.finditer(text):
        yield from (line[2:] for line in block[1].splitlines() if line.startswith("$ "))


def printed(command: str, folder: Path) -> str:
    """What a command prints in a folder, the errors as on a terminal."""
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    who = {f"GIT_{role}_{part}": "tutorial" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "JAX_PLATFORMS": "cpu", "NPROC": "64"}
    environment = {**os.environ, **who, **quiet, "PATH": os.pathsep.join(paths)}
    both = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return PROGRESS.sub("", both.stdout.decode())


def rerun(text: str, folder: Path, most: int | None = None) -> str:
    """The page with outputs of now, of its first commands or of all."""
    left = sum(1 for _ in commands(text)) if most is None else most

    def block(match: re.Match[str]) -> str:
        nonlocal left
        said = []
        for part in re.split(r"^(?=\$ )", match[1], flags=re.MULTILINE):
            if part and left > 0:
                left -= 1
                command = part.splitlines()[0]
                part = f"{command}\n{printed(command[2:], folder)}"
            said.append(part)
        return f"```console\n{''.join(said)}```"

    return BLOCK.sub(block, text)


def fresh(folder: Path) -> Path:
    """A copy of the program in a folder."""
    return Path(shutil.copytree(PROGRAM, folder / "classifier", ignore=shutil.ignore_patterns("__pycache__")))


def main() -> int:
    """Rewrites or checks the page."""
    before = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        after = rerun(before, fresh(Path(folder)))
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(after, encoding="utf-8")
        return 0
    old, new = (TIMES.sub("# s", text).splitlines() for text in (before, after))
    print("\n".join(difflib.unified_diff(old, new, "docs/tutorial.md", "as run", lineterm="")))
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
