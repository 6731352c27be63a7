"""The GitHub Action: its steps run as the runner runs them, with the same shell, variables and files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "jaxmigrate", "rules", "tools", "action.yml")
SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
MISSING = "import jax\n\nf = jax.pmap(lambda x: jax.lax.psum(x, 'bacth'), axis_name='batch')\n"
PMAPPED = "import jax\n\nprint(jax.pmap(lambda x: 2 * x)(jax.numpy.arange(8.0)).sum())\n"
CLEAN = "import jax\n"
INSTALL = "Install jaxmigrate"
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


class Ran(NamedTuple):
    """What a run of the action gave: each step's exit status and output, by name, and where the report lies."""

    status: dict[str, int]
    output: dict[str, str]
    report: Path
    summary: str


class Runner:
    """Runs the steps of an action that are scripts; what another action does for a step is given."""

    def __init__(self, action: Path, workspace: Path, temporary: Path, python: str) -> None:
        self.action = yaml.safe_load((action / "action.yml").read_text(encoding="utf-8"))
        self.workspace = workspace
        self.temporary = temporary
        self.path = action
        self.outputs: dict[str, dict[str, str]] = {"python": {"python-path": python}}
        self.installed = ""

    def value(self, text: str, inputs: Mapping[str, str]) -> str:
        """A text with its expressions filled in."""

        def filled(match: re.Match[str]) -> str:
            root, *rest = match[1].split(".")
            if root == "inputs":
                return inputs[rest[0]]
            if root == "steps":
                return self.outputs.get(rest[0], {}).get(rest[2], "")
            assert match[1] == "github.action_path"
            return str(self.path)

        return EXPRESSION.sub(filled, text)

    def wanted(self, step: Mapping[str, Any], inputs: Mapping[str, str]) -> bool:
        """Whether a step's condition holds."""
        condition = str(step.get("if", ""))
        if "fix-check" in condition:
            return inputs["fix-check"] == "true"
        return "inputs.verify" not in condition or inputs["verify"] != ""

    def run(self, **given: str) -> Ran:
        """Runs the action with inputs, as `with:` gives them."""
        inputs = {name: str(one["default"]) for name, one in self.action["inputs"].items()}
        inputs |= {name.replace("_", "-"): text for name, text in given.items()}
        output, summary = self.temporary / "output", self.temporary / "summary"
        summary.write_text("")
        status: dict[str, int] = {}
        said: dict[str, str] = {}
        for step in self.action["runs"]["steps"]:
            if "run" not in step or not self.wanted(step, inputs):
                continue
            if step["name"] == INSTALL and self.installed:
                report = str(self.temporary / "report")
                self.outputs["install"] = {"python": self.installed, "report": report}
                status[INSTALL] = 0
                continue
            output.write_text("")
            script = self.temporary / "script.sh"
            script.write_text(step["run"])
            environment = {
                **os.environ,
                **{name: self.value(text, inputs) for name, text in step.get("env", {}).items()},
                "RUNNER_TEMP": str(self.temporary),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
            }
            done = subprocess.run(
                [*SHELL, str(script)],
                cwd=self.workspace,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            lines = (line.partition("=") for line in output.read_text().splitlines())
            self.outputs[step.get("id", "")] = {key: text for key, _, text in lines}
            assert done.returncode == 0 or step["name"] != INSTALL, done.stderr
            status[step["name"]], said[step["name"]] = done.returncode, done.stdout + done.stderr
        return Ran(status, said, Path(self.outputs["install"]["report"]), summary.read_text())


@pytest.fixture(scope="module")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The action as another repository has it: a copy, which installing leaves files in."""
    copy = tmp_path_factory.mktemp("an action")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy)
    return copy


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python as setup-python gives one, whose environments find what is installed here instead of on the net."""
    found = tmp_path_factory.mktemp("toolcache") / "python"
    packages = "\n".join(path for path in sys.path if path.endswith("site-packages"))
    link = f"""for folder in "$4"/lib/python*/site-packages; do
    rm -rf "$folder"/setuptools* "$folder"/*.pth
    echo "{packages}" > "$folder/here.pth"
done"""
    found.write_text(f'#!/bin/sh\n"{sys.executable}" "$@" && if [ "$3" = venv ]; then {link}; fi\n')
    found.chmod(0o755)
    return str(found)


@pytest.fixture(scope="module")
def offline() -> Iterator[None]:
    """What is installed here in place of the net."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_DEPS", "1")
        patch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # as pip spells it: no isolation
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        yield


@pytest.fixture(scope="module")
def installed(action: Path, python: str, offline: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment that the action's first step made: the same for every run, so it is made once."""
    home = tmp_path_factory.mktemp("installed")
    ran = Runner(action, home, home, python)
    ran.run(paths=".")
    return ran.outputs["install"]["python"]


@pytest.fixture
def runner(action: Path, python: str, installed: str, tmp_path: Path) -> Runner:
    workspace, temporary = tmp_path / "work space", tmp_path / "temp"
    workspace.mkdir()
    temporary.mkdir()
    found = Runner(action, workspace, temporary, python)
    found.installed = installed
    return found


def written(runner: Runner, **files: str) -> None:
    for name, text in files.items():
        path = runner.workspace / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "paths",
    [
        *("clean\nbad\n", 'clean\n"my code"\n'),
        *(pytest.param(one, marks=pytest.mark.long) for one in ("clean bad", "clean 'my code'", "clean \\\n  bad")),
    ],
)
def test_every_path_is_linted(paths: str, runner: Runner) -> None:
    """Also those on later lines, and those with spaces."""
    written(runner, clean__a=CLEAN)
    for folder in ("bad", "my code"):
        (runner.workspace / folder).mkdir()
        (runner.workspace / folder / "b.py").write_text(MISSING)
    ran = runner.run(paths=paths, fix_check="true")
    assert ran.status == {INSTALL: 0, "Lint": 1, "Check that nothing is left to fix": 1}, ran.output
    assert "::error file=" in ran.output["Lint"]
    assert "b.py: would rewrite 1 site" in ran.output["Check that nothing is left to fix"]


@pytest.mark.slow
def test_paths_that_cannot_be_split_are_an_error(runner: Runner) -> None:
    ran = runner.run(paths="it's")
    assert ran.status["Lint"] == 2
    assert "::error title=jaxmigrate::paths cannot be split into words: no closing quotation" in ran.output["Lint"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "verify",
    [
        pytest.param('python train.py "--name=two words"', marks=pytest.mark.long),
        pytest.param("python \\\n  train.py \\\n  '--name=two words'", marks=pytest.mark.long),
        "name='two words'\npython train.py \"--name=$name\"\n",
    ],
)
def test_a_command_keeps_its_words(verify: str, runner: Runner) -> None:
    check = "import sys\n\nassert sys.argv[1:] == ['--name=two words'], sys.argv\n"
    written(runner, train=check + PMAPPED)
    for name in ("venv", "pip", "libcst", "jaxmigrate"):
        (runner.workspace / f"{name}.py").write_text("raise SystemExit('a module of the project')\n")
    ran = runner.run(verify=verify)
    assert ran.status["Verify the migration"] == 0, ran.output
    assert "bitwise equal" in ran.summary
    assert {path.name for path in ran.report.iterdir()} == {"report.html", "report.json", "report.xml", "summary.md"}


@pytest.mark.slow
def test_verify_asks_which_of_several_paths(runner: Runner) -> None:
    written(runner, train=PMAPPED, other=CLEAN)
    ran = runner.run(paths="train.py other.py", verify="python train.py")
    assert ran.status["Verify the migration"] == 2
    assert "verify takes one path and paths has 2; say which with verify-path" in ran.output["Verify the migration"]
    ran = runner.run(paths="train.py other.py", verify="python train.py", verify_path="train.py")
    assert ran.status["Verify the migration"] == 0, ran.output


@pytest.mark.slow
def test_a_revision_that_a_shallow_checkout_lacks_is_fetched(runner: Runner, tmp_path: Path) -> None:
    def git(*arguments: str, cwd: Path) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)

    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git("init", cwd=upstream)
    (upstream / "train.py").write_text(PMAPPED)
    git("add", ".", cwd=upstream)
    git("commit", "-m", "as it was", cwd=upstream)
    git("switch", "-c", "migrated", cwd=upstream)
    (upstream / "train.py").write_text(PMAPPED.replace("jax.pmap(", "jax.vmap("))
    git("commit", "-am", "migrated", cwd=upstream)
    runner.workspace.rmdir()
    git("clone", "--depth=1", "--branch=migrated", upstream.as_uri(), str(runner.workspace), cwd=tmp_path)
    ran = runner.run(verify="python train.py", original="origin/main")
    told = ran.output["Verify the migration"]
    assert "neither a folder nor a git revision" not in told
    assert "ran original: 1 mapped call" in told
    ran = runner.run(verify="python train.py", original="origin/nowhere")
    assert ran.status["Verify the migration"] == 2
    assert "check out with `fetch-depth: 0`" in ran.output["Verify the migration"]


def test_jobs_of_a_matrix_keep_their_reports_apart() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (kept,) = (step for step in action["runs"]["steps"] if "upload-artifact" in step.get("uses", ""))
    assert "strategy.job-index" in kept["with"]["name"]
    assert "github.job" in kept["with"]["name"]


def test_the_programs_own_python_stays() -> None:
    """jaxmigrate has an environment of its own: what `python` means to the job, and what it has, stays."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (setup,) = (step for step in action["runs"]["steps"] if "setup-python" in step.get("uses", ""))
    assert setup["with"]["update-environment"] is False
