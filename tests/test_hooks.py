"""The pre-commit hooks: what they are given, and what they do in a repository with one file staged."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from tests.layouts.running import OBSERVER, Program, run
from tests.test_partial_views import CALLS_STEP, STEP

ROOT = Path(__file__).parents[1]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
SHIPPED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "jaxmigrate", "rules", ".pre-commit-hooks.yaml")
PRE_COMMIT = shutil.which("pre-commit", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


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
def test_fix_takes_the_repository_for_the_program(
    staged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"lib.py": STEP, "main.py": CALLS_STEP, "observer.py": OBSERVER}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", staged], check=True)
    assert main(shlex.split(hooks()["jaxmigrate-fix"]["entry"])[1:]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "main.py: changed: uses code that is rewritten in another file" in told
    assert "sharding.py: added: helpers that several files import" in told
    after = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.py")}
    assert after["lib.py"] != STEP
    assert after["main.py"] != CALLS_STEP
    found = run([Program("before", files), Program("after", after)])
    assert not found["after"]["error"]
    assert found["after"]["result"] == found["before"]["result"]


@pytest.mark.slow
@pytest.mark.skipif(PRE_COMMIT is None, reason="pre-commit is not installed")
def test_pre_commit_runs_the_hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For real, with an environment that it makes from this checkout, for a commit of one of two files."""
    hooks, project = tmp_path / "hooks", tmp_path / "project"
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, hooks / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            hooks.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, hooks)
    project.mkdir()
    (project / "lib.py").write_text(STEP, encoding="utf-8")
    (project / "main.py").write_text(CALLS_STEP, encoding="utf-8")
    for folder in (hooks, project):
        _git("init", "--quiet", cwd=folder)
        _git("add", ".", cwd=folder)
        _git("commit", "--quiet", "--message", "first", cwd=folder)
    _git("tag", "v1", cwd=hooks)
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {hooks.as_posix()}\n    rev: v1\n    hooks:\n"
        "      - id: jaxmigrate-lint\n      - id: jaxmigrate-fix\n"
    )
    (project / "lib.py").write_text(f"# new\n{STEP}", encoding="utf-8")
    _git("add", "lib.py", ".pre-commit-config.yaml", cwd=project)
    # what is installed here stands in for the net
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p.endswith("site-packages")))
    monkeypatch.setenv("PIP_NO_DEPS", "1")
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # as pip spells it: no isolation
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    ran = subprocess.run([str(PRE_COMMIT), "run"], cwd=project, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "jaxmigrate lint" in ran.stdout
    assert "Passed" in ran.stdout
    assert "files were modified by this hook" in ran.stdout
    assert "jax.shard_map" in (project / "lib.py").read_text(encoding="utf-8")
    assert (project / "main.py").read_text(encoding="utf-8") != CALLS_STEP, "it was not staged, and goes with lib.py"


def _git(*arguments: str, cwd: Path) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)
