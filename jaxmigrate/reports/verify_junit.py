"""A verification as JUnit XML: each site is a test case, which a CI server lists, counts and links to."""

from __future__ import annotations

import shlex
import xml.etree.ElementTree as ET

from jaxmigrate.reports.figures import shell_line
from jaxmigrate.reports.report import Report, SiteRow, as_report
from jaxmigrate.reports.xml_text import document, legal, suite_of
from jaxmigrate.verify.model import Evidence, RunSummary, SiteEvidence, Verdict

ADVICE = {
    Verdict.DIFFERENT: "The first call that differs is where to look: earlier ones agree, later ones follow from it.",
    Verdict.NOT_EXERCISED: "Verify a command that calls it, such as its tests; other runs say nothing about it.",
    Verdict.NONDETERMINISTIC: "The runs of the original differ: fix its seeds, or verify a part that repeats.",
}


def write(told: Report | Evidence) -> str:
    """One suite with a case for each site and one for each run; only sites that agree pass."""
    report = as_report(told)
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", name=f"jaxmigrate {report.title}")
    command = _command(report.evidence)
    for row in report.rows:
        _add_site(suite, row, command)
    if report.evidence is not None:
        _add_outputs(suite, report.evidence)
        for run in report.evidence.runs:
            _add_run(suite, run)
    _count(root, suite, report)
    return document(root)


def _command(evidence: Evidence | None) -> str:
    """What repeats the runs, a line for each command."""
    parts = (evidence.parts or (evidence,)) if evidence is not None else ()
    return "\n".join(shell_line(part.environment, shlex.join(part.command)) for part in parts)


def _add_site(suite: ET.Element, row: SiteRow, command: str) -> None:
    name = f"{row.place} {row.name}".strip()
    group = suite_of(row.path) or "jaxmigrate"
    case = ET.SubElement(suite, "testcase", classname=group, name=legal(name), file=legal(row.path))
    case.set("line", str(row.line))
    if row.evidence is None:
        reason = f"{row.code} {row.reason}".strip() or "not verified"
        ET.SubElement(case, "skipped", message=legal(reason))
    elif not row.evidence.verdict.ok:
        tag = "error" if row.evidence.verdict is Verdict.FAILED else "failure"
        kind = row.evidence.verdict.value
        message = legal(_in_one_line(row.evidence))
        ET.SubElement(case, tag, type=kind, message=message).text = legal(_told(row.evidence, command))
    else:
        ET.SubElement(case, "system-out").text = legal(row.evidence.message)


def _in_one_line(evidence: SiteEvidence) -> str:
    """What a list of failures shows: what differs first, and its usual cause."""
    hint = next((difference.hint for difference in evidence.differences if difference.hint), "")
    return f"{evidence.message}; {hint}" if hint else evidence.message


def _told(evidence: SiteEvidence, command: str) -> str:
    """All that differs, what to do about it, and how to see it again."""
    lines = [f"{evidence.site}: {evidence.message}"]
    for difference in evidence.differences:
        said = [difference.message] if difference.message != evidence.message else []
        lines += [*said, *([f"  hint: {difference.hint}"] if difference.hint else [])]
    advice = ADVICE.get(evidence.verdict)
    lines += [advice] if advice else []
    return "\n".join([*lines, *(["", "what ran:", command] if command else [])])


def _add_outputs(suite: ET.Element, evidence: Evidence) -> None:
    """A case for what the programs print and write, where that was compared."""
    if evidence.outputs_equal is None:
        return
    case = ET.SubElement(suite, "testcase", classname="jaxmigrate.outputs", name="what is printed and written")
    if evidence.outputs:
        failure = ET.SubElement(case, "failure", type="different", message=legal(evidence.outputs[0]))
        failure.text = legal("\n".join(evidence.outputs))


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
