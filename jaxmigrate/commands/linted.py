"""What `lint` finds in the files that its options mean: examined, selected, and without what a baseline has."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jaxmigrate.commands import Failure
from jaxmigrate.commands.formatting import with_rules
from jaxmigrate.commands.inputs import Located
from jaxmigrate.commands.waiting import under_way
from jaxmigrate.config import Config, Version
from jaxmigrate.findings import Finding
from jaxmigrate.findings.suppressions import Unused, silence
from jaxmigrate.lint.cache import Cache, Examined
from jaxmigrate.lint.examine import examine_text
from jaxmigrate.lint.pool import Surroundings, Work, examine_all
from jaxmigrate.lint.work_units import Piece, pieces
from jaxmigrate.program.old_names import Era
from jaxmigrate.records import replace
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.requirements import project_of, target_jax, written_for
from jaxmigrate.sources import STDIN, Kind, SourceError, SourceFile, decode, read_source
from jaxmigrate.terminal import is_terminal, plural

if TYPE_CHECKING:
    from jaxmigrate.lint.shards import Part, Shard

_Told = TypeVar("_Told", Finding, SourceError)


class Lint:
    """One call of `lint`: its files by project, its options, and what standard input holds.

    The files at the paths of `changed` are taken to have that content, which is how fixes are tried.
    """

    def __init__(self, groups: Sequence[Located], options: argparse.Namespace) -> None:
        self.groups = groups
        self.options = options
        self.part = _mine(groups, options.shard)
        self.changed: dict[Path, bytes] = {}
        self.stdin: SourceFile | SourceError | None = None
        if any(file.kind is Kind.STDIN for group in groups for file in group.files):
            self.stdin = _read_stdin(options.stdin_filename)

    def result(self) -> tuple[LintResult, str]:
        """What is found and wanted, and a remark on the baseline.

        Raises:
            Failure: The baseline cannot be used.
        """
        return _without_known(_result(self, _examined(self)), self.options, self.part)


def _read_stdin(filename: str | None) -> SourceFile | SourceError:
    named = None if filename is None else Path(filename)
    name = STDIN if named is None else named.as_posix()
    try:
        return decode(sys.stdin.buffer.read(), name, named)
    except SourceError as error:
        return error


def _mine(groups: Sequence[Located], shard: Shard | None) -> Part | None:
    """The files to tell of; None where that is all."""
    if shard is None:
        return None
    from jaxmigrate.lint.shards import part_of

    return part_of((file.name for group in groups for file in group.files), shard)


def _examined(lint: Lint) -> list[list[Examined]]:
    """For each project, what came out of its pieces, those of all projects examined side by side."""
    groups, options, part = lint.groups, lint.options, lint.part
    if options.docs:
        from jaxmigrate.commands.docs import lint_docs

        return [
            [lint_docs(file, _target(group)) for file in group.files if part is None or part.tells(file.name)]
            for group in groups
        ]
    works: list[Work] = []
    surroundings: list[Surroundings] = []
    for number, group in enumerate(groups):
        files = [(f.name, f.path.absolute()) for f in group.files if f.kind is not Kind.STDIN]
        cache = None if options.no_cache or not files else Cache(group.config.root).prepare()
        surroundings.append(Surroundings({path: name for name, path in files}, cache, lint.changed))
        common = Path(os.path.commonpath([path.parent for _, path in files])) if files else Path.cwd()
        works += [
            Work(number, piece)
            for piece in _wanted_pieces(pieces(files, common, _target(group), group.config.declared, _era(group)), part)
        ]
    found: list[list[Examined]] = [[] for _ in groups]
    with under_way(f"checking {plural(sum(len(group.files) for group in groups), 'file')}"):
        for work, one in zip(works, examine_all(works, surroundings), strict=True):
            found[work.project].append(one)
    for number, group in enumerate(groups):
        if any(file.kind is Kind.STDIN for file in group.files):
            found[number].append(_examined_stdin(lint.stdin, group))
    return found


def _wanted_pieces(found: Sequence[Piece], part: Part | None) -> Sequence[Piece]:
    """Those in which something may be found in a file to tell of."""
    if part is None:
        return found
    from jaxmigrate.lint.shards import leading

    paths = {path for piece in found for name, path in piece.files if name in part.own}
    return [piece for piece, leads in zip(found, leading(found, paths), strict=True) if leads]


def _target(group: Located) -> Version | None:
    return target_jax(group.config, _root(group))


def _era(group: Located) -> Era:
    return written_for(_root(group))


def _root(group: Located) -> Path:
    return project_of(group.config, (file.path for file in group.files if file.kind is not Kind.STDIN))


def _examined_stdin(source: SourceFile | SourceError | None, group: Located) -> Examined:
    if isinstance(source, SourceFile):
        return examine_text(source, _target(group), group.config.declared, era=_era(group))
    return Examined((), () if source is None else (source,), {})


def _result(lint: Lint, examined: Sequence[list[Examined]]) -> LintResult:
    groups, options, part, changed = lint.groups, lint.options, lint.part, lint.changed
    findings: list[Finding] = []
    errors: list[SourceError] = []
    warnings: list[SourceError] = []
    for group, found in zip(groups, examined, strict=True):
        kept, unused = _wanted(found, _with_options(group.config, options))
        findings += kept
        warnings += unused
        warnings += [one for examined in found for one in examined.skipped]
        errors += [*group.errors, *(error for one in found for error in one.errors)]
    result = LintResult(
        findings=_in_order(findings, part),
        errors=_in_order(errors, part),
        warnings=_in_order(warnings, part),
        files=[name for name in _looked_at(groups, errors, options) if part is None or part.tells(name)],
        sources=_sources(findings, changed) if options.format == "text" and is_terminal(sys.stdout) else {},
        shard="" if part is None else str(part.shard),
        maps=sum(one.maps for found in examined for one in found) if part is None else 0,
    )
    return with_rules(result, options)


def _in_order(told: Iterable[_Told], part: Part | None) -> list[_Told]:
    """What is to be told, file by file in the order of their names; all of one file stays as it stands."""
    return sorted((one for one in told if part is None or part.tells(one.path)), key=lambda one: one.path)


def _wanted(examined: Iterable[Examined], config: Config) -> tuple[list[Finding], list[SourceError]]:
    """The findings of one project that are neither deselected nor silenced, and the comments that silence nothing."""
    found: dict[object, Finding] = {}
    marked = {name: marks for one in examined for name, marks in one.marks.items()}
    for finding in sorted((f for one in examined for f in one.findings), key=lambda f: (f.path, f.cell, f)):
        what = (finding.path, finding.cell, finding.line, finding.column, finding.code, finding.message)
        found.setdefault(what, finding)
    silenced = silence(found.values(), marked)
    kept = [f for f in silenced.findings if config.reports(f.code, None if f.path == STDIN else Path(f.path))]
    return kept, [_unused(one) for one in silenced.unused if _is_known_to_lint(one.code, config)]


def _is_known_to_lint(code: str, config: Config) -> bool:
    """Whether a silenced code is one that lint would give here; those of `fix` and of rules turned off are not."""
    from jaxmigrate.rules import checks

    given = [name.partition("_")[0].upper() for name in checks()]
    meant = [known for known in given if known.startswith(code)]
    return not meant and not code.startswith("JM4") if not meant else any(config.reports(known) for known in meant)


def _unused(one: Unused) -> SourceError:
    from jaxmigrate.findings.rule_pages import begins_a_code

    what = f"'# jaxmigrate: ignore[{one.code}]'" if one.code else "'# jaxmigrate: ignore'"
    known = begins_a_code(one.code)
    message = f"warning: {what} silences nothing here" if known else f"warning: {what}: there is no such rule"
    return SourceError(one.path, message, one.line, cell=one.cell)


def _looked_at(groups: Sequence[Located], errors: Sequence[SourceError], options: argparse.Namespace) -> Iterator[str]:
    """The names of the files that could be read, whether they parse or not."""
    unreadable = {error.path for error in errors if not error.message.startswith("cannot be parsed")}
    for group in groups:
        for file in group.files:
            name = options.stdin_filename if file.kind is Kind.STDIN and options.stdin_filename else file.name
            if name not in unreadable:
                yield name


def _sources(findings: Iterable[Finding], changed: Mapping[Path, bytes]) -> dict[str, SourceFile]:
    """The files whose lines are shown beside findings."""
    found: dict[str, SourceFile] = {}
    for name in {finding.path for finding in findings} - {STDIN}:
        path = Path(name)
        raw = changed.get(path.absolute())
        with contextlib.suppress(SourceError):
            found[name] = read_source(path, name) if raw is None else decode(raw, name, path)
    return found


def _with_options(config: Config, options: argparse.Namespace) -> Config:
    """A selection on the command line replaces the project's; an --ignore alone adds to it."""
    if options.select is not None:
        return replace(config, select=options.select, ignore=options.ignore or ())
    return replace(config, ignore=config.ignore + (options.ignore or ()))


def _without_known(result: LintResult, options: argparse.Namespace, part: Part | None) -> tuple[LintResult, str]:
    """The result without what the baseline has, and a remark on it."""
    if options.baseline is None:
        return result, ""
    from jaxmigrate.findings import baseline

    file = Path(options.baseline)
    try:
        if options.write_baseline:
            baseline.write(result.findings, file)
            remark = f"{plural(len(result.findings), 'finding')} written to {file}"
            return replace(result, findings=[]), remark
        compared = baseline.compare(result.findings, file, None if part is None else part.absolute().tells)
    except baseline.BaselineError as error:
        raise Failure(str(error)) from error
    known = len(result.findings) - len(compared.new)
    gone = f", {compared.gone} of its entries no longer found" if compared.gone else ""
    return replace(result, findings=compared.new), f"{plural(known, 'finding')} already in the baseline {file}{gone}"
