"""What `fix` did as JUnit XML: a mapped site or an old name is a test case, and one that was left has failed."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from jaxmigrate.migrate.plan import NamePlan, SitePlan
from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.reports.xml_text import document, legal, suite_of


def write(result: FixResult) -> str:
    """One test suite with a case for each site, and one in error for each file that could not be worked on."""
    totals = {
        "name": "jaxmigrate fix",
        "tests": str(len(result.sites) + len(result.names) + len(result.errors)),
        "failures": str(len(result.left) + len(result.left_names)),
        "errors": str(len(result.errors)),
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals)
    for site in result.sites:
        _add_case(suite, site)
    for name in result.names:
        _add_name(suite, name)
    for error in result.errors:
        case = ET.SubElement(suite, "testcase", classname="jaxmigrate.fix", name=legal(error.path))
        ET.SubElement(case, "error", message=legal(error.message)).text = legal(str(error))
    return document(root)


def _case(suite: ET.Element, one: SitePlan | NamePlan, name: str) -> ET.Element:
    where = {"classname": suite_of(one.path) or "jaxmigrate", "file": legal(one.path), "line": str(one.line)}
    return ET.SubElement(suite, "testcase", where, name=legal(name))


def _add_case(suite: ET.Element, site: SitePlan) -> None:
    case = _case(suite, site, f"{site.place}:{site.column} {site.mapped}".rstrip())
    if site.status == "left":
        text = f"{site.place}:{site.column} {site.code} {site.reason}"
        ET.SubElement(case, "failure", type=site.code, message=legal(site.reason)).text = legal(text)


def _add_name(suite: ET.Element, name: NamePlan) -> None:
    place = f"{name.place}:{name.column}"
    case = _case(suite, name, f"{place} {name.name}")
    if name.status == "left":
        text = f"{place} {name.code} {name.reason}"
        ET.SubElement(case, "failure", type=name.code, message=legal(name.reason)).text = legal(text)
