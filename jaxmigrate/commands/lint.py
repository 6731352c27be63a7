"""`jaxmigrate lint PATH...`: reads, asks the rules, prints."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import sys
from collections.abc import Iterable, Iterator

from jaxmigrate.commands import Failure
from jaxmigrate.commands.inputs import Inputs, load, unparsable
from jaxmigrate.config import Config
from jaxmigrate.findings import Finding
from jaxmigrate.linting import TELLING, lint
from jaxmigrate.reports import lint_github, lint_json, lint_junit, lint_sarif, lint_text
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.rule_pages import rule_titles
from jaxmigrate.sources import SourceError, SourceFile
from jaxmigrate.suppressions import unsuppressed
from jaxmigrate.terminal import is_terminal, plural, say, wants_colour


def run(options: argparse.Namespace) -> int:
    """Lints the files that `options.paths` mean; 1 with findings, 2 if a file could not be looked at.

    Raises:
        Failure: The options contradict one another.
    """
    if options.statistics and options.format not in ("text", "json"):
        raise Failure(f"--statistics goes with the formats text and json, not with {options.format}")
    groups = load(options.paths, options.force_exclude)
    result = _result(groups, options)
    sys.stdout.write(_formatted(result, options))
    _tell_the_rest(result, groups, options.format)
    if result.errors:
        return 2
    return 1 if result.findings else 0


def _result(groups: list[Inputs], options: argparse.Namespace) -> LintResult:
    findings: list[Finding] = []
    for group in groups:
        findings += _findings(group, _with_options(group.config, options))
    return LintResult(
        findings=findings,
        errors=[error for group in groups for error in (*group.errors, *_unparsable(group.sources))],
        sources={source.name: source for group in groups for source in group.sources},
        titles=rule_titles() if options.statistics or options.format == "sarif" else {},
    )


def _unparsable(sources: Iterable[SourceFile]) -> Iterator[SourceError]:
    """The errors of files that the rules look at and that do not parse."""
    for source in sources:
        if any(word in source.text for word in TELLING):
            try:
                ast.parse(source.text)
            except SyntaxError as error:
                yield unparsable(source.name, error)
            except (ValueError, RecursionError, MemoryError) as error:
                yield SourceError(source.name, f"cannot be parsed: {error}")


def _findings(group: Inputs, config: Config) -> list[Finding]:
    sources = {source.name: source for source in group.sources}
    wanted = [f for f in lint(group.sources, config) if config.reports(f.code, sources[f.path].path)]
    return sorted(unsuppressed(wanted, sources))


def _with_options(config: Config, options: argparse.Namespace) -> Config:
    """A selection on the command line replaces the project's; an --ignore alone adds to it."""
    if options.select is not None:
        return dataclasses.replace(config, select=options.select, ignore=options.ignore or ())
    return dataclasses.replace(config, ignore=config.ignore + (options.ignore or ()))


def _formatted(result: LintResult, options: argparse.Namespace) -> str:
    if options.format == "json":
        return lint_json.write(result, options.statistics)
    if options.format == "github":
        return lint_github.write(result)
    if options.format == "sarif":
        return lint_sarif.write(result)
    if options.format == "junit":
        return lint_junit.write(result)
    if options.statistics:
        return lint_text.write_statistics(result)
    return lint_text.write(result, is_terminal(sys.stdout), wants_colour(sys.stdout))


def _tell_the_rest(result: LintResult, groups: Iterable[Inputs], format_name: str) -> None:
    for error in result.errors:
        say(str(error))
    notebooks = sum(len(group.notebooks) for group in groups)
    if notebooks:
        say(f"{plural(notebooks, 'notebook')} skipped: notebooks are not linted yet")
    if format_name == "text":
        say(_summary(result))


def _summary(result: LintResult) -> str:
    looked_at = f"{plural(len(result.sources), 'file')} checked"
    if not result.findings:
        return f"no findings, {looked_at}"
    files = len({finding.path for finding in result.findings})
    return f"{plural(len(result.findings), 'finding')} in {plural(files, 'file')}, {looked_at}"
