"""What `fix` did as JUnit XML: a mapped site or an old name is a test case, and one that was left has failed."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from jaxmigrate.migrate.plan import NamePlan, SitePlan
from jaxmigrate.program.kept import KEPT
from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.reports.xml_text import document, legal, suite_of


def write(result: FixResult) -> str:
    """One test suite with a case for each site, and one in error for each file that could not be worked on."""
    totals = {
        "name": "jaxmigrate fix",
        "tests": str(len(result.sites) + len(result.names) + len(result.errors)),
        "failures": str(len(result.left) + len(result.left_names)),
        "errors": str(len(result.errors)),
        "skipped": str(len(result.kept)),
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals)
    for site in result.sites:
        _add_case(suite, site, result.caution)
    for name in result.names:
        _add_name(suite, name)
    for error in result.errors:
        case = ET.SubElement(suite, "testcase", classname="jaxmigrate.fix", name=legal(error.path))
        ET.SubElement(case, "error", message=legal(error.message)).text = legal(str(error))
    return document(root)


def _case(suite: ET.Element, one: SitePlan | NamePlan, name: str) -> ET.Element:
    where = {"classname": suite_of(one.path) or "jaxmigrate", "file": legal(one.path), "line": str(one.line)}
    return ET.SubElement(suite, "testcase", where, name=legal(name))


def _add_case(suite: ET.Element, site: SitePlan, caution: str) -> None:
    case = _case(suite, site, f"{site.place}:{site.column} {site.mapped}".rstrip())
    _add_reason(case, site)
    if any(one.grade == "observed" for one in site.assumed):
        ET.SubElement(case, "system-out").text = legal("\n".join([*map(str, site.assumed), caution]))


def _add_name(suite: ET.Element, name: NamePlan) -> None:
    place = f"{name.place}:{name.column}"
    case = _case(suite, name, f"{place} {name.name}")
    _add_reason(case, name)


def _add_reason(case: ET.Element, one: SitePlan | NamePlan) -> None:
    """Why something stays: a failure, unless a comment asked for it."""
    if one.status == "left" and one.code == KEPT:
        ET.SubElement(case, "skipped", message=legal(one.reason))
    elif one.status == "left":
        text = f"{one.place}:{one.column} {one.code} {one.reason}"
        ET.SubElement(case, "failure", type=one.code, message=legal(one.reason)).text = legal(text)
