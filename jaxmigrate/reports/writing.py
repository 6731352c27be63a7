"""Writes a report in the format that a file's ending names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jaxmigrate.reports import verify_html, verify_json, verify_junit, verify_markdown
from jaxmigrate.reports.report import Report

WRITERS: Mapping[str, Callable[[Report], str]] = {
    ".json": verify_json.write,
    ".xml": verify_junit.write,
    ".md": verify_markdown.write,
    ".html": verify_html.write,
}


def write_report(path: Path, report: Report) -> None:
    """Write `report` to `path`; raises KeyError for an ending that names no format, OSError if it cannot be written."""
    text = WRITERS[path.suffix](report)
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
