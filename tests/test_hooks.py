"""The pre-commit hooks: what they are given, and what they do in a repository with one file staged."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from tests.layouts.running import OBSERVER, Program, run
from tests.test_partial_views import CALLS_STEP, STEP

HOOKS = Path(__file__).parents[1] / ".pre-commit-hooks.yaml"


def hooks() -> dict[str, dict[str, str]]:
    """The hooks by their id; the file is a list of flat mappings."""
    found: dict[str, dict[str, str]] = {}
    for block in HOOKS.read_text(encoding="utf-8").split("- ")[1:]:
        lines = (line.strip().partition(": ") for line in block.splitlines())
        hook = {key: value for key, _, value in lines}
        found[hook["id"]] = hook
    return found


def test_fix_is_given_no_files_and_lint_is() -> None:
    assert hooks()["jaxmigrate-fix"]["pass_filenames"] == "false"
    assert "pass_filenames" not in hooks()["jaxmigrate-lint"]


@pytest.mark.parametrize("staged", ["lib.py", "main.py"])
def test_fix_takes_the_repository_for_the_program(staged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"lib.py": STEP, "main.py": CALLS_STEP, "observer.py": OBSERVER}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", staged], check=True)
    assert main(shlex.split(hooks()["jaxmigrate-fix"]["entry"])[1:]) == 0
    after = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.py")}
    assert after["lib.py"] != STEP
    assert after["main.py"] != CALLS_STEP
    found = run([Program("before", files), Program("after", after)])
    assert not found["after"]["error"]
    assert found["after"]["result"] == found["before"]["result"]
