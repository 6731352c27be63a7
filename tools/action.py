"""The steps of the GitHub Action (action.yml): `action.py lint|check|verify`, with the inputs in the environment.

Lists may stand on one line or on several, and are split as a shell splits words, so that quotes hold what has spaces.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

REPORTS = ("report.html", "report.json", "report.xml", "summary.md")


class WrongInputError(Exception):
    """An input that cannot be used, in words."""


def main(step: str) -> int:
    """Runs a step; what is wrong with an input becomes an annotation."""
    steps = {"lint": lint, "check": check, "verify": verify}
    try:
        return steps[step]()
    except WrongInputError as error:
        print(f"::error title=jaxmigrate::{error}")
        return 2


def lint() -> int:
    """Findings as annotations."""
    return jaxmigrate("lint", "--format", "github", *paths())


def check() -> int:
    """Fails where something is left to migrate."""
    return jaxmigrate("fix", "--check", *paths())


def verify() -> int:
    """Verifies one path; the report is kept in the folder REPORT, its summary is shown with the job's."""
    given = os.environ.get("VERIFY_PATH", "").strip()
    every = [given] if given else paths()
    if len(every) != 1:
        raise WrongInputError(f"verify takes one path and paths has {len(every)}; say which with verify-path")
    folder = Path(os.environ["REPORT"])
    folder.mkdir(parents=True, exist_ok=True)
    original = os.environ.get("ORIGINAL", "").strip()
    if original:
        original = found_original(original)
    reports = [part for name in REPORTS for part in ("--report", str(folder / name))]
    against = ["--original", original] if original else []
    status = jaxmigrate("verify", every[0], *against, *reports, "--", *command(os.environ["COMMAND"]))
    summary = folder / REPORTS[-1]
    if summary.is_file() and (page := os.environ.get("GITHUB_STEP_SUMMARY")):
        with open(page, "a", encoding="utf-8") as stream:
            stream.write(summary.read_text(encoding="utf-8"))
    return status


def paths() -> list[str]:
    """The input `paths`."""
    return words(os.environ.get("PATHS", ""), "paths") or ["."]


def words(text: str, name: str) -> list[str]:
    """The words of an input, split as a shell does."""
    try:
        return shlex.split(joined(text))
    except ValueError as error:
        raise WrongInputError(f"{name} cannot be split into words: {str(error).lower()}") from None


def joined(text: str) -> str:
    """A text whose lines that end in a backslash go on."""
    return text.replace("\\\r\n", " ").replace("\\\n", " ")


def command(text: str) -> list[str]:
    """The arguments of a command; several lines are a script, as under `run`."""
    lines = [line for line in joined(text).splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) > 1:
        return ["bash", "-e", "-c", text]
    return words(lines[0] if lines else "", "verify")


def found_original(original: str) -> str:
    """What to compare with, fetched where it is a revision that a shallow checkout does not have."""
    if Path(original).exists() or git("rev-parse", "--verify", "--quiet", f"{original}^{{commit}}"):
        return original
    remote, _, branch = original.partition("/")
    if branch and git("remote", "get-url", remote):
        fetched = git("fetch", "--quiet", "--depth=1", remote, f"+{branch}:refs/remotes/{original}")
    else:
        fetched = git("fetch", "--quiet", "--depth=1", "origin", original)
        original = "FETCH_HEAD" if fetched else original
    if not fetched:
        raise WrongInputError(
            f"original: there is no {original} in this checkout and it cannot be fetched; "
            "check out with `fetch-depth: 0` and see that the name is right"
        )
    return original


def git(*arguments: str) -> bool:
    """Whether git could do something."""
    if shutil.which("git") is None:
        return False
    return subprocess.run(["git", *arguments], capture_output=True, check=False).returncode == 0


def jaxmigrate(*arguments: str) -> int:
    """Runs jaxmigrate with the interpreter that runs this, blind to the project's modules; gives its exit status."""
    sys.stdout.flush()
    return subprocess.run([sys.executable, "-I", "-m", "jaxmigrate", *arguments], check=False).returncode


def run(arguments: Sequence[str]) -> int:
    """Checks what is asked for."""
    if len(arguments) != 1 or arguments[0] not in ("lint", "check", "verify"):
        print("usage: action.py lint|check|verify", file=sys.stderr)
        return 2
    return main(arguments[0])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
