"""Findings as JUnit XML, which test dashboards read: a file is a test case, and a finding in it a failure."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict

from jaxmigrate.findings import Finding
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.reports.xml_text import document, legal
from jaxmigrate.sources import shown_path


def write(result: LintResult) -> str:
    """One test suite with a case for each file that was looked at, clean ones included."""
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in result.findings:
        by_path[finding.path].append(finding)
    names = sorted({*result.files, *by_path} - {error.path for error in result.errors})
    totals = {
        "name": "jaxmigrate lint",
        "tests": str(len(names) + len(result.errors)),
        "failures": str(len(by_path)),
        "errors": str(len(result.errors)),
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals)
    if result.shard:
        ET.SubElement(ET.SubElement(suite, "properties"), "property", name="shard", value=result.shard)
    for name in names:
        _add_case(suite, name, by_path.get(name, []))
    for error in result.errors:
        case = ET.SubElement(suite, "testcase", classname="jaxmigrate.lint", name=legal(error.path))
        ET.SubElement(case, "error", message=legal(error.message)).text = legal(str(error))
    return document(root)


def _add_case(suite: ET.Element, name: str, findings: list[Finding]) -> None:
    """A case has one failure at most, by JUnit's schema, so it lists all of its file's findings."""
    case = ET.SubElement(suite, "testcase", classname="jaxmigrate.lint", name=legal(name))
    if findings:
        codes = ", ".join(dict.fromkeys(finding.code for finding in findings))
        lines = [f"{shown_path(f.path, f.cell)}:{f.line}:{f.column} {f.code} {f.message}" for f in findings]
        ET.SubElement(case, "failure", type=codes, message=legal(findings[0].message)).text = legal("\n".join(lines))
