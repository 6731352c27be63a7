"""What `fix` did, as a page to look at."""

from __future__ import annotations

from jaxmigrate.reports import page
from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.reports.report import report_of_fix


def write(result: FixResult) -> str:
    """A complete HTML document: summary, verdict, sites, what was left and why, and each file's diff."""
    return page.write(report_of_fix(result))
