"""`jaxmigrate lint --fix`: mends what has one right answer, and looks again until there is nothing left to mend.

Nothing is written before that: each round looks at the files as the last one would leave them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.commands.linted import Lint
from jaxmigrate.commands.mending import applied
from jaxmigrate.findings import Finding
from jaxmigrate.findings.fixes import NO_FIX, Fix
from jaxmigrate.lint.linting import place
from jaxmigrate.records import replace
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import SourceError, SourceFile, decode, is_writable, read_source, shown_path, write_source

MOST_ROUNDS = 10


class Mended(NamedTuple):
    """What came of it.

    Attributes:
        result: What is left, told of the files as they are after the fixes.
        remark: What is to be said of the baseline.
        mended: How many findings were mended.
        files: The files that change, as they were, each with its new text.
        refused: Why fixes were left out, a line each.
    """

    result: LintResult
    remark: str
    mended: int
    files: list[tuple[SourceFile, str]]
    refused: list[str]


class Fixer:
    """Mends the files of one call of `lint`, in memory."""

    def __init__(self, lint: Lint, *, writes: bool) -> None:
        """With `writes`, files that cannot be written are left as they are."""
        self._lint = lint
        self._writes = writes
        self._before: dict[str, SourceFile] = {}
        self._now: dict[str, SourceFile] = {}
        self._counts: Counter[str] = Counter()
        self._left: dict[Fix, str] = {}
        self._failed: dict[str, str] = {}  # files that could not be written, with the reason

    def mend(self) -> Mended:
        """Looks and mends in turn."""
        for _ in range(MOST_ROUNDS):
            result, remark = self._lint.result()
            if not self._round(result.findings):
                return self._mended(result, remark)
        return self._mended(*self._lint.result())

    def write(self) -> list[SourceError]:
        """Writes what was mended, but for standard input; what cannot be written after all stays as it is."""
        errors: list[SourceError] = []
        for name in [name for name, source in self._now.items() if source is not self._lint.stdin]:
            try:
                write_source(self._before[name], self._now[name].text)
            except SourceError as error:
                errors.append(error)
                self._failed[name] = error.message
                for path in _paths(self._before[name]):
                    self._lint.changed.pop(path, None)
                del self._now[name], self._counts[name]
        return errors

    def _mended(self, result: LintResult, remark: str) -> Mended:
        refused = [_refusal(one, self._left[one.fix]) for one in result.findings if one.fix in self._left]
        findings = [replace(one, fix=NO_FIX) if one.fix in self._left else one for one in result.findings]
        files = [(self._before[name], after.text) for name, after in self._now.items()]
        return Mended(
            replace(result, findings=findings), remark, self._counts.total(), files, list(dict.fromkeys(refused))
        )

    def _round(self, findings: Sequence[Finding]) -> bool:
        """Mends what can be; whether anything was."""
        self._left = {}
        wanted: dict[str, list[Fix]] = {}
        for finding in findings:
            if finding.fix.edits:
                wanted.setdefault(finding.fix.path, []).append(finding.fix)
        mended = {fix for name, fixes in wanted.items() for fix in self._in_file(name, fixes)}
        self._counts.update(finding.fix.path for finding in findings if finding.fix in mended)
        return bool(mended)

    def _in_file(self, name: str, fixes: Sequence[Fix]) -> list[Fix]:
        """Mends a file, and gives the fixes that it now has."""
        try:
            before = self._source(name)
            text, made, left = applied(before, fixes)
            after = decode(before.encode(text), name, before.path)
        except SourceError as error:
            self._left |= dict.fromkeys(fixes, error.message)
            return []
        self._left |= left
        if text == before.text:
            self._left |= dict.fromkeys(made, "it changes nothing")
            return []
        self._now[name] = after
        if before is self._lint.stdin:
            self._lint.stdin = after
        else:
            self._lint.changed |= dict.fromkeys(_paths(after), after.raw)
        return list(made)

    def _source(self, name: str) -> SourceFile:
        """A file as it is by now.

        Raises:
            SourceError: It cannot be read, or not be written.
        """
        if name in self._failed:
            raise SourceError(name, self._failed[name])
        if name in self._now:
            return self._now[name]
        if isinstance(self._lint.stdin, SourceFile) and name == self._lint.stdin.name:
            source = self._lint.stdin
        else:
            source = read_source(Path(name), name)
            if self._writes and not is_writable(source):
                raise SourceError(name, "the file cannot be written")
        return self._before.setdefault(name, source)


def _paths(source: SourceFile) -> set[Path]:
    """The paths by which a file is read, by itself and for what imports it."""
    assert source.path is not None
    return {place(source), source.path.absolute()}


def _refusal(finding: Finding, reason: str) -> str:
    where = f"{shown_path(finding.path, finding.cell)}:{finding.line}:{finding.column}"
    return f"{where} {finding.code} was not fixed: {reason}"
