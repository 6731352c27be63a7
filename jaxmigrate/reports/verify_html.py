"""A verification as a page to look at."""

from __future__ import annotations

from jaxmigrate.reports import page
from jaxmigrate.reports.report import Report, as_report
from jaxmigrate.verify.model import Evidence


def write(told: Report | Evidence) -> str:
    """A complete HTML document: verdict, coverage, sites, what differs, the diff, and how it was run."""
    return page.write(as_report(told))
