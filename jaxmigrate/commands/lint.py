"""`jaxmigrate lint PATH...`: has the files looked at, and mended where that is asked for; prints what is left."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from jaxmigrate.commands import Failure
from jaxmigrate.commands.formatting import check_statistics, formatted, status_of
from jaxmigrate.commands.inputs import locate, tell_if_nothing_is_there
from jaxmigrate.commands.linted import Lint
from jaxmigrate.records import replace
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import SourceFile
from jaxmigrate.terminal import note, plural, say


def run(options: argparse.Namespace) -> int:
    """Lints the files that `options.paths` mean; 1 with findings, 2 if a file could not be looked at.

    Raises:
        Failure: The options contradict one another, the baseline cannot be used, or LibCST is needed and missing.
    """
    _check(options)
    stdin = None if options.stdin_filename is None else Path(options.stdin_filename)
    groups = locate(options.paths, options.force_exclude, stdin, options.docs)
    tell_if_nothing_is_there(options.paths, groups, options.docs)
    lint = Lint(groups, options)
    if options.fix:
        return _fix(lint, options)
    result, remark = lint.result()
    sys.stdout.write(formatted(result, options))
    _tell_the_rest(result, options.format, remark)
    return status_of(result)


def _fix(lint: Lint, options: argparse.Namespace) -> int:
    """Mends what has one right answer, or shows it; tells the rest."""
    from jaxmigrate.commands.lint_fixes import Fixer

    fixer = Fixer(lint, writes=not options.diff)
    mended = fixer.mend()
    if not options.diff and (errors := fixer.write()):
        mended = fixer.mend()
        mended = mended._replace(result=replace(mended.result, errors=[*mended.result.errors, *errors]))
    result = mended.result
    if options.diff:
        _print_diffs(mended.files)
    elif isinstance(lint.stdin, SourceFile):
        sys.stdout.buffer.write(lint.stdin.raw)
        sys.stderr.write(formatted(result, options))
    else:
        sys.stdout.write(formatted(result, options))
    for line in mended.refused:
        say(line)
    left = f"{len(result.findings)} left"
    if mended.mended:
        would = "would fix" if options.diff else "fixed"
        note(f"{would} {plural(mended.mended, 'finding')} in {plural(len(mended.files), 'file')}; {left}")
    elif options.diff:
        note(f"nothing to fix; {left}")
    _tell_the_rest(result, "diff" if options.diff else options.format, mended.remark)
    return status_of(result) or (1 if options.diff and mended.files else 0)


def _print_diffs(files: Iterable[tuple[SourceFile, str]]) -> None:
    from jaxmigrate.commands.diffs import print_diff
    from jaxmigrate.reports.diff import diff_of

    for source, text in files:
        print_diff(diff_of(source, text), source.encoding)


def _check(options: argparse.Namespace) -> None:
    check_statistics(options)
    if options.write_baseline and options.baseline is None:
        raise Failure("--write-baseline needs --baseline FILE, which it writes")
    if options.stdin_filename is not None and "-" not in options.paths:
        raise Failure("--stdin-filename goes with the path -, standard input")
    for option in ("docs", "shard"):
        if getattr(options, option) and "-" in options.paths:
            raise Failure(f"--{option} goes with files and folders, not with standard input")
    _check_fixes(options)


def _check_fixes(options: argparse.Namespace) -> None:
    if options.diff and not options.fix:
        raise Failure("--diff shows what --fix would write: give both")
    if options.diff and (options.statistics or options.format != "text"):
        raise Failure("--diff prints a diff alone: leave out --statistics and --format")
    if options.fix and "-" in options.paths and len(options.paths) > 1:
        raise Failure("--fix mends standard input by itself: without other paths")
    reasons = {
        "docs": "reads documentation, where --fix changes nothing",
        "shard": "reports on a part of the files, and a fix may be in another",
        "write_baseline": "keeps all findings, and --fix leaves only some",
    }
    for option, reason in reasons.items():
        if options.fix and getattr(options, option):
            raise Failure(f"--{option.replace('_', '-')} {reason}: leave one of them out")


def _tell_the_rest(result: LintResult, format_name: str, remark: str) -> None:
    for error in result.errors:
        say(str(error))
    for warning in result.warnings:
        note(str(warning))
    if remark:
        note(remark)
    if format_name == "text" and (result.files or not result.errors):
        note(_summary(result))
        if count := sum(bool(finding.fix.edits) for finding in result.findings):
            note(f"[*] {count} can be fixed by `jaxmigrate lint --fix`")


def _summary(result: LintResult) -> str:
    unread = {error.path for error in result.errors}
    count = plural(len(unread.union(result.files)), "file")
    checked = f"{len(set(result.files) - unread)} of {count}" if unread else count
    looked_at = f"{checked} checked{f' in shard {result.shard}' if result.shard else ''}"
    if result.maps:
        looked_at += f"; {plural(result.maps, 'use')} of pmap: `jaxmigrate fix --diff` shows how to rewrite "
        looked_at += "it" if result.maps == 1 else "them"
    if not result.findings:
        return f"no findings, {looked_at}"
    files = len({finding.path for finding in result.findings})
    return f"{plural(len(result.findings), 'finding')} in {plural(files, 'file')}, {looked_at}"
