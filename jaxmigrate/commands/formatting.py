"""What `lint` and `merge` print of a result, in the format that their options name, and the exit status."""

from __future__ import annotations

import argparse
import importlib
import sys

from jaxmigrate.commands import Failure
from jaxmigrate.records import replace
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.terminal import columns, is_terminal, wants_colour


def check_statistics(options: argparse.Namespace) -> None:
    """Raises Failure where statistics are asked for in a format that has none."""
    if options.statistics and options.format not in ("text", "json"):
        raise Failure(f"--statistics goes with the formats text and json, not with {options.format}")


def with_rules(result: LintResult, options: argparse.Namespace) -> LintResult:
    """The result with what its format tells of the rules themselves."""
    if not options.statistics and options.format != "sarif":
        return result
    from jaxmigrate.findings.rule_pages import rule_pages, rule_titles

    found = {finding.code for finding in result.findings}
    pages = {code: page.text for code, page in rule_pages().items() if code in found}
    return replace(result, titles=rule_titles(), pages=pages if options.format == "sarif" else {})


def formatted(result: LintResult, options: argparse.Namespace) -> str:
    """The result as text; only the writer that is asked for is imported."""
    writer = importlib.import_module(f"jaxmigrate.reports.lint_{options.format}")
    if options.format == "json":
        text: str = writer.write(result, options.statistics)
    elif options.format != "text":
        text = writer.write(result)
    elif options.statistics:
        text = writer.write_statistics(result)
    else:
        text = writer.write(result, is_terminal(sys.stdout), wants_colour(sys.stdout), columns(sys.stdout))
    return text


def status_of(result: LintResult) -> int:
    """2 if a file could not be looked at, 1 with findings, else 0."""
    if result.errors:
        return 2
    return 1 if result.findings else 0
