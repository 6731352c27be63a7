"""What `fix` did as JUnit XML: a mapped site is a test case, and one that was left has failed."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from jaxmigrate.migrate.plan import SitePlan
from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.reports.xml_text import legal


def write(result: FixResult) -> str:
    """One test suite with a case for each site, and one in error for each file that could not be worked on."""
    totals = {
        "name": "jaxmigrate fix",
        "tests": str(len(result.sites) + len(result.errors)),
        "failures": str(len(result.left)),
        "errors": str(len(result.errors)),
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals)
    for site in result.sites:
        _add_case(suite, site)
    for error in result.errors:
        case = ET.SubElement(suite, "testcase", classname="jaxmigrate.fix", name=legal(error.path))
        ET.SubElement(case, "error", message=legal(error.message)).text = legal(str(error))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_case(suite: ET.Element, site: SitePlan) -> None:
    case = ET.SubElement(suite, "testcase", classname="jaxmigrate.fix", name=legal(site.id))
    if site.status == "left":
        text = f"{site.path}:{site.line}:{site.column} {site.code} {site.reason}"
        ET.SubElement(case, "failure", type=site.code, message=legal(site.reason)).text = legal(text)
