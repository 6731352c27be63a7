"""What other programs read is read here by other programs: SARIF by a schema validator, JUnit by a JUnit library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from junitparser import Error, Failure, JUnitXml

from jaxmigrate.findings import Finding
from jaxmigrate.reports import lint_junit, lint_sarif
from jaxmigrate.reports.lint_result import LintResult
from tests.lint.sarif_schema import SCHEMA
from tests.test_lint_formats import RESULT

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
ABSOLUTE = LintResult([Finding("/a b/c.py", 1, 1, "JM101", "m")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    (root / "a b.py").write_text("import jax\np = jax.pmap(lambda x: jax.lax.psum(x, 'bacth'), axis_name='batch')\n")
    (root / "broken.py").write_text("import jax\njax.pmap(\n")
    (root / "clean.py").write_text("import jax\nx = 1  # jaxmigrate: ignore\n")
    return root


def printed(folder: Path, name: str) -> str:
    command = [sys.executable, "-m", "jaxmigrate", "lint", "--no-cache", "--format", name, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("result", [RESULT, LintResult([]), ABSOLUTE])
def test_sarif_is_valid(result: LintResult) -> None:
    VALIDATOR.validate(json.loads(lint_sarif.write(result)))


def test_sarif_as_printed_is_valid(folder: Path) -> None:
    log = json.loads(printed(folder, "sarif"))
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["JM101"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules if "help" in rule] == ["JM101"]
    levels = [one["level"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert levels == ["error", "warning"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": "2.1.0"},
        {"version": "2.0.0", "runs": []},
        {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "result": []}]},
        {"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]},
    ],
)
def test_the_schema_refuses_what_is_wrong(wrong: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(wrong)


def test_junit_is_read(folder: Path) -> None:
    (suite,) = JUnitXml.fromstring(printed(folder, "junit").encode())
    assert (suite.name, suite.tests, suite.failures, suite.errors) == ("jaxmigrate lint", 3, 1, 1)
    cases = {case.name: case.result for case in suite}
    (failure,) = cases["a b.py"]
    assert isinstance(failure, Failure)
    assert failure.type == "JM101"
    (error,) = cases["broken.py"]
    assert isinstance(error, Error)
    assert cases["clean.py"] == []


def test_junit_of_hostile_names_is_read() -> None:
    (suite,) = JUnitXml.fromstring(lint_junit.write(RESULT).encode())
    assert suite.tests == len(list(suite)) == 5
