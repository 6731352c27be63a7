"""A verification as JUnit XML: each site is a test case, which a CI server lists, counts and links to."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from jaxmigrate.reports.report import Report, SiteRow, as_report
from jaxmigrate.reports.xml_text import legal
from jaxmigrate.verify.model import Evidence, RunSummary, SiteEvidence, Verdict


def write(told: Report | Evidence) -> str:
    """One suite with a case for each site and one for each run; only sites that agree pass."""
    report = as_report(told)
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", name=f"jaxmigrate {report.title}")
    for row in report.rows:
        _add_site(suite, row)
    for run in report.evidence.runs if report.evidence is not None else ():
        _add_run(suite, run)
    _count(root, suite, report)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_site(suite: ET.Element, row: SiteRow) -> None:
    name = f"{row.place} {row.name}".strip()
    case = ET.SubElement(suite, "testcase", classname="jaxmigrate.site", name=legal(name), file=legal(row.path))
    case.set("line", str(row.line))
    if row.evidence is None:
        reason = f"{row.code} {row.reason}".strip() or "not verified"
        ET.SubElement(case, "skipped", message=legal(reason))
    elif not row.evidence.verdict.ok:
        tag = "error" if row.evidence.verdict is Verdict.FAILED else "failure"
        kind = row.evidence.verdict.value
        message = legal(row.evidence.message)
        ET.SubElement(case, tag, type=kind, message=message).text = legal(_told(row.evidence))
    else:
        ET.SubElement(case, "system-out").text = legal(row.evidence.message)


def _told(evidence: SiteEvidence) -> str:
    lines = [f"{evidence.site}: {evidence.message}"]
    for difference in evidence.differences:
        lines += [difference.message, *([f"  hint: {difference.hint}"] if difference.hint else [])]
    return "\n".join(lines)


def _add_run(suite: ET.Element, run: RunSummary) -> None:
    name = f"run of the {run.name} program"
    case = ET.SubElement(suite, "testcase", classname="jaxmigrate.run", name=name, time=f"{run.seconds:.3f}")
    if not run.ok:
        error = ET.SubElement(case, "error", type=run.outcome, message=legal(run.message))
        error.text = legal("\n".join(text for text in (run.message, run.stack, run.last_words) if text))


def _count(root: ET.Element, suite: ET.Element, report: Report) -> None:
    cases = suite.findall("testcase")
    for element in (root, suite):
        element.set("tests", str(len(cases)))
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
        element.set("time", f"{report.evidence.seconds if report.evidence is not None else 0.0:.3f}")
