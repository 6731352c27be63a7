"""Every format carries every finding and every error, and survives what file names and messages may hold."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from jaxmigrate.findings import Finding, Note
from jaxmigrate.records import replace
from jaxmigrate.reports import lint_github, lint_gitlab, lint_json, lint_junit, lint_sarif, lint_text
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import SourceError, decode

TEXT = "import jax\n\tx = jax.lax.psum(日本, 'bacth')\n"
FINDING = Finding(
    "a b.py", 2, 23, "JM101", "axis 'bacth' is not bound", 2, 30, (Note("c.py", 7, 3, "mapped here over 'batch'"),)
)
HOSTILE = Finding("x%,:\n.py", 1, 1, "JM201", "evil\x1b[31m,\n::error::\r%\x00")
RESULT = LintResult(
    findings=[FINDING, HOSTILE],
    errors=[SourceError("broken.py", "invalid syntax", 3, 5), SourceError("gone.py", "no such file or directory")],
    warnings=[SourceError("clean.py", "warning: silences nothing", 4)],
    files=["a b.py", "clean.py"],
    sources={"a b.py": decode(TEXT.encode(), "a b.py")},
    titles={"JM101": "unbound axis name", "JM301": "divergent collective"},
)


def test_text_has_a_line_for_each() -> None:
    assert lint_text.write(LintResult([FINDING])) == "a b.py:2:23 JM101 axis 'bacth' is not bound\n"
    assert lint_text.write(LintResult([])) == ""


def test_text_shows_the_place_on_a_terminal() -> None:
    shown = lint_text.write(LintResult([FINDING], sources=RESULT.sources), excerpts=True).splitlines()
    assert shown == [
        "a b.py:2:23 JM101 axis 'bacth' is not bound",
        "2 | \tx = jax.lax.psum(日本, 'bacth')",
        "  | \t" + " " * 23 + "^^^^^^^",
        "  c.py:7:3 mapped here over 'batch'",
    ]


@pytest.mark.parametrize("column", [1, 2, 300, 599, 600])
def test_the_caret_stays_below_its_character_in_long_lines(column: int) -> None:
    line = "".join(chr(ord("a") + n % 26) for n in range(600))
    result = LintResult([Finding("a.py", 1, column, "JM101", "m")], sources={"a.py": decode(line.encode(), "a.py")})
    _, shown, caret = lint_text.write(result, excerpts=True).splitlines()
    assert shown[caret.index("^")] == line[column - 1]
    assert len(shown) < 130


def test_a_range_over_lines_is_underlined_to_the_end_of_its_first() -> None:
    source = decode(b"f(a,\n  b)\n", "a.py")
    result = LintResult([Finding("a.py", 1, 1, "JM101", "m", 2, 5)], sources={"a.py": source})
    assert lint_text.write(result, excerpts=True).splitlines()[2] == "  | ^^^^"


def test_text_cannot_drive_the_terminal() -> None:
    shown = lint_text.write(RESULT, excerpts=True)
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert len(lint_text.write(RESULT).splitlines()) == 2
    assert "\x1b[1;31m" not in shown
    assert "\x1b[31;1mJM101\x1b[0m" in lint_text.write(RESULT, excerpts=True, colour=True)


def test_statistics_are_sorted_by_count() -> None:
    result = LintResult([HOSTILE, *[FINDING] * 10], titles=RESULT.titles)
    assert lint_text.write_statistics(result) == "10  JM101  unbound axis name\n 1  JM201\n"
    assert json.loads(lint_json.write(result, statistics=True))["statistics"] == {"JM101": 10, "JM201": 1}


def test_json_has_everything() -> None:
    document = json.loads(lint_json.write(RESULT))
    assert document["version"] == 1
    assert document["files"] == 2
    assert document["findings"][0] == {
        "path": "a b.py",
        "line": 2,
        "column": 23,
        "code": "JM101",
        "message": "axis 'bacth' is not bound",
        "end_line": 2,
        "end_column": 30,
        "notes": [{"path": "c.py", "line": 7, "column": 3, "message": "mapped here over 'batch'"}],
    }
    assert document["errors"][1] == {
        "path": "gone.py",
        "line": 0,
        "column": 0,
        "message": "no such file or directory",
    }
    assert "statistics" not in document


def test_github_escapes_what_it_must() -> None:
    lines = lint_github.write(RESULT).splitlines()
    assert lines[0] == (
        "::error file=a b.py,line=2,col=23,endLine=2,endColumn=30,title=jaxmigrate JM101::axis 'bacth' is not bound"
    )
    assert lines[1].startswith("::error file=x%25%2C%3A%0A.py,line=1,col=1,title=jaxmigrate JM201::evil")
    assert lines[1].endswith(",%0A::error::%0D%25\x00")
    assert lines[2] == "::error file=broken.py,line=3,col=5,title=jaxmigrate::invalid syntax"
    assert lines[3] == "::error file=gone.py,title=jaxmigrate::no such file or directory"


def test_sarif_has_rules_results_and_notifications() -> None:
    run = json.loads(lint_sarif.write(RESULT))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["JM101", "JM201", "JM301"]
    assert rules[0]["shortDescription"]["text"] == "unbound axis name"
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["JM101", "JM201"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b.py"
    assert place["region"] == {"startLine": 2, "startColumn": 23, "endLine": 2, "endColumn": 30}
    assert run["results"][0]["relatedLocations"][0]["message"]["text"] == "mapped here over 'batch'"
    assert "relatedLocations" not in run["results"][1]
    invocation = run["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "invalid syntax"


def test_sarif_explains_the_rules_that_found_something() -> None:
    result = replace(RESULT, pages={"JM101": "# JM101: unbound axis name\n"})
    rules = json.loads(lint_sarif.write(result))["runs"][0]["tool"]["driver"]["rules"]
    assert rules[0]["help"]["markdown"] == "# JM101: unbound axis name\n"
    assert "help" not in rules[2]


def test_sarif_uris_of_absolute_paths() -> None:
    run = json.loads(lint_sarif.write(LintResult([Finding("/a b/c.py", 1, 1, "JM101", "m")])))["runs"][0]
    location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"] == "file:///a%20b/c.py"
    assert run["invocations"][0]["executionSuccessful"] is True


def test_junit_has_a_case_for_each_file() -> None:
    root = ET.fromstring(lint_junit.write(RESULT))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "2", "2")
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert set(cases) == {"a b.py", "clean.py", "x%,:\n.py", "broken.py", "gone.py"}
    failure = cases["a b.py"].find("failure")
    assert failure is not None
    assert failure.get("type") == "JM101"
    assert failure.text == "a b.py:2:23 JM101 axis 'bacth' is not bound"
    assert len(cases["clean.py"]) == 0
    assert cases["broken.py"].find("error") is not None


def test_gitlab_has_an_issue_for_each() -> None:
    issues = json.loads(lint_gitlab.write(replace(RESULT, findings=[FINDING, FINDING, HOSTILE])))
    assert [(issue["check_name"], issue["severity"]) for issue in issues] == [
        *(("JM101", "major"), ("JM101", "major"), ("JM201", "major")),
        *(("jaxmigrate", "critical"), ("jaxmigrate", "critical"), ("jaxmigrate", "info")),
    ]
    assert issues[0]["description"] == "axis 'bacth' is not bound"
    assert issues[0]["location"] == {"path": "a b.py", "lines": {"begin": 2}}
    assert issues[4]["location"]["lines"]["begin"] == 1  # of a file that could not be read at all
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_gitlab_knows_a_finding_again_on_another_line() -> None:
    (before,), (after,) = (json.loads(lint_gitlab.write(LintResult([replace(FINDING, line=line)]))) for line in (2, 12))
    assert before["fingerprint"] == after["fingerprint"]
    assert before["location"] != after["location"]
