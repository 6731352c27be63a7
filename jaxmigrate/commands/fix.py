"""`jaxmigrate fix PATH...`: plans, verifies where asked to, then writes or shows."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxmigrate.commands import Failure
from jaxmigrate.commands.assumptions import declared_in, unused, write_assumptions
from jaxmigrate.commands.beside import texts_beside
from jaxmigrate.commands.cells import remarks
from jaxmigrate.commands.diffs import print_diff
from jaxmigrate.commands.explain import explained
from jaxmigrate.commands.inputs import Inputs, load, locate, tell_if_nothing_is_there
from jaxmigrate.commands.interactive import StoppedError, ask
from jaxmigrate.commands.left import left_lines
from jaxmigrate.commands.pages import has_pmap, reword_pages, still_said
from jaxmigrate.commands.planning import PlannedFile, plan_files, with_diff
from jaxmigrate.commands.raising import Raised, raise_requirements
from jaxmigrate.commands.reporting import write_reports
from jaxmigrate.commands.waiting import under_way
from jaxmigrate.commands.withheld import Largest, Replan, Withheld, left_with
from jaxmigrate.lint.linting import place
from jaxmigrate.migrate import SitePlan
from jaxmigrate.migrate.one_process import written_for_one
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.wanted import Wanted
from jaxmigrate.program.declarations import Kind
from jaxmigrate.program.observed import NOTHING_OBSERVED, Observed
from jaxmigrate.program.trust import GRADES
from jaxmigrate.reports import fix_html, fix_json, fix_junit, fix_markdown
from jaxmigrate.reports.alike import told
from jaxmigrate.reports.fix_result import FixedFile, FixResult
from jaxmigrate.reports.limits import briefly
from jaxmigrate.reports.site_layouts import is_global, reasons, summary
from jaxmigrate.requirements import pins, project_of, target_jax, written_for
from jaxmigrate.sources import SourceError, create_source, is_writable, may_be_created, write_source
from jaxmigrate.terminal import is_quiet, note, plural, printable, say, wrapped
from jaxmigrate.verify.model import Evidence

_REPORTS = {".json": fix_json.write, ".xml": fix_junit.write, ".md": fix_markdown.write, ".html": fix_html.write}

WITHHELD = "JM490"
MOST_CALLERS = 3


def run(options: argparse.Namespace) -> int:
    """Rewrites, or shows what would be; 1 if a site is left or --check would change something, 2 after an error.

    Raises:
        Failure: The options contradict one another, or the verification could not be carried out.
    """
    _check(options)
    options.verify |= options.observe  # what is observed only counts where it verifies
    options.check |= bool(options.explain)
    if options.docs:
        return _run_docs(options)
    with under_way("reading"):
        groups = load(options.paths, options.force_exclude)
    tell_if_nothing_is_there(options.paths, groups)
    from_stdin = any(source.path is None for group in groups for source in group.sources)
    if from_stdin and (options.verify or len(options.paths) > 1):
        raise Failure("standard input (-) cannot be combined with other paths or with --verify")
    if options.verify:
        from jaxmigrate.commands.verification import commands

        for group in groups:
            commands(group.config, options)  # there is one, or nothing needs to be planned
    try:
        plans = [_plan(group, options) for group in groups]  # all of them before anything is written
    except StoppedError:
        say("nothing was written")
        return 1
    results = [_fix(plan, options, from_stdin) for plan in plans]
    raised = [_raised(plan, one, options) for plan, one in zip(plans, results, strict=True)]
    raised = [_said(plan, one, more, options) for plan, one, more in zip(plans, results, raised, strict=True)]
    results = [
        dataclasses.replace(one, files=[*one.files, *more.files], errors=[*one.errors, *more.errors])
        for one, more in zip(results, raised, strict=True)
    ]
    for plan, one in zip(plans, results, strict=True):
        if options.write_assumptions and (written := write_assumptions(plan.group.config, one.assumed)):
            note(written)
    result = _merged(results)
    if options.explain:
        for line in explained(result, *options.explain):
            _print(line)
        write_reports(result, options.report, _REPORTS)
        return 0
    write_reports(result, options.report, _REPORTS)
    _tell(result, options, from_stdin)
    for plan, one, more in zip(plans, results, raised, strict=True):
        for remark in (*more.left, *(_processes(plan, one) if one.rewritten else ())):
            note(f"note: {remark}")
    return _status(result, options)


def _check(options: argparse.Namespace) -> None:
    """Refuses options that contradict one another."""
    runs = options.verify or options.observe
    if options.observe and options.layout == "stacked":
        raise Failure("--observe looks for global arrays, and --layout stacked wants none: leave one of them out")
    if options.program is not None and not runs:
        raise Failure("COMMAND is only run by --verify; write `--verify -- COMMAND...`")
    if options.interactive and (options.diff or options.check or options.docs or "-" in options.paths):
        raise Failure("--interactive asks and then writes: it does not go with --diff, --check, --docs or -")
    if options.explain and (options.diff or options.docs or options.verify or options.interactive):
        raise Failure("--explain writes nothing and runs nothing: it goes with PATH, --layout and --report only")
    if options.docs and runs:
        raise Failure("--docs rewrites code in documentation, which --verify cannot run")


def _run_docs(options: argparse.Namespace) -> int:
    """Rewrites the code in documentation instead."""
    from jaxmigrate.commands.docs import Wanted, fix_docs

    if "-" in options.paths:
        raise Failure("--docs goes with files and folders, not with standard input")
    results = []
    groups = locate(options.paths, options.force_exclude, docs=True)
    tell_if_nothing_is_there(options.paths, groups, docs=True)
    for group in groups:
        layout = options.layout or group.config.layout
        root = project_of(group.config, (file.path for file in group.files))
        target = target_jax(group.config, root, options.target_jax)
        results.append(fix_docs(group, Wanted(layout, target, written_for(root), not (options.diff or options.check))))
    result = _merged(results)
    write_reports(result, options.report, _REPORTS)
    _tell(result, options, from_stdin=False)
    return _status(result, options)


def _processes(plan: _Planned, result: FixResult) -> Iterator[str]:
    """That maps of stacked arrays are written for one process, where the program might run as several."""
    stacked = any(
        array.layout == "stacked"
        for file in result.files
        for site in file.sites
        if site.status == "rewritten"
        for array in (*site.arguments, *site.outputs)
    )
    texts = {place(source): source.text for source in plan.group.sources}
    found = written_for_one(texts) if stacked and not plan.group.config.declared.processes else None
    if found is not None:
        where = f"{os.path.relpath(found[0])}:{found[1]}"
        yield (
            f"{where} counts local devices, but no file asks which process it is: maps of stacked arrays are "
            "written for one process and raise as several; `processes = 2` in pyproject.toml writes them for several"
        )


def _untaken(file: PlannedFile) -> Iterator[str]:
    """That branches which no call in sight takes are left as they are."""
    for line in file.plan.untaken:
        yield (
            f"{file.source.name}:{line}: no call in sight takes this branch, and what it does with arrays that are "
            "global now was not changed: change it by hand before it is used"
        )


def _undonated(file: PlannedFile) -> Iterator[str]:
    """That maps donate less than they say."""
    for line in file.plan.undonated:
        yield (
            f"{file.source.name}:{line}: a call gives by keyword what this map says it donates: pmap did not donate it "
            "and neither does what is written; give it by position to donate it"
        )


class _Planned(NamedTuple):
    """What will become of the files under one configuration, and the errors of those that cannot be planned for.

    `again` plans them with some sites held, and without some files, and `observing` with what a run has shown; `unused`
    are declarations that nothing needs.
    """

    group: Inputs
    layout: str
    files: list[PlannedFile]
    errors: list[SourceError]
    again: Replan
    unused: list[str]
    observing: Callable[[Observed], tuple[list[PlannedFile], Replan]]


def _plan(group: Inputs, options: argparse.Namespace) -> _Planned:
    """The plan for a project; of what the user declines where each change is asked about, another one without it.

    Raises:
        StoppedError: The user wants nothing to be written.
    """
    layout = options.layout or group.config.layout
    root = group.root
    declared, used = declared_in(group.config), set[tuple[Kind, str]]()
    target, era = target_jax(group.config, root, options.target_jax), written_for(root)
    with under_way("reading the project"):
        beside = texts_beside(group.sources, group.config)

    asked = PlanOptions(layout, target, era, declared=declared, marks=options.verify, used=used)
    nothing_yet = NOTHING_OBSERVED if options.observe and layout != "stacked" else None

    def plan(
        wanted: Wanted, aside: Collection[str] = (), observed: Observed | None = nothing_yet
    ) -> tuple[list[PlannedFile], list[SourceError]]:
        given = [source for source in group.sources if source.name not in aside]
        others = {**beside, **{place(source): source.text for source in group.sources if source.name in aside}}
        with under_way(f"planning {plural(len(given), 'file')}"):
            return plan_files(given, dataclasses.replace(asked, wanted=wanted, observed=observed), others)

    wanted = Wanted(options.select or ("JM",))
    planned, errors = plan(wanted)
    if options.interactive:
        wanted = ask(planned, wanted.codes)
        planned, errors = plan(wanted)
    again: Replan = lambda held, aside: plan(wanted._replace(held=held), aside)[0]  # noqa: E731 - has its type in one line

    def observing(observed: Observed) -> tuple[list[PlannedFile], Replan]:
        return plan(wanted, (), observed)[0], lambda held, aside: plan(wanted._replace(held=held), aside, observed)[0]

    needless = unused(group.config, used, layout)
    return _Planned(group, layout, planned, errors, again, needless, observing)


def _fix(plan: _Planned, options: argparse.Namespace, from_stdin: bool) -> FixResult:
    group, planned = plan.group, plan.files
    evidence: Evidence | None = None
    withheld: Mapping[str, Withheld] = {}
    if options.verify:
        planned, withheld, evidence = _verified(plan, options)
    if not (options.diff or options.check or from_stdin):
        withheld = {**withheld, **_left_with_unwritable(planned, withheld)}
    with under_way("comparing" if options.diff or options.check else "writing"):
        files = [_fix_file(file, withheld, options) for file in planned]
    if from_stdin and not (options.diff or options.check):
        sys.stdout.buffer.write(b"".join(file.after for file in planned) or group.sources[0].raw)
    failed = [error for _, error in files if error is not None]
    notebooks = [str(one) for one in group.skipped]
    notebooks += [remark for file in planned for remark in remarks(file.source, file.plan, plan.layout)]
    notebooks += [remark for file in planned for remark in (*_untaken(file), *_undonated(file))]
    errors = [*group.errors, *plan.errors, *failed]
    return FixResult([file for file, _ in files], errors, notebooks, evidence, plan.unused)


def _raised(plan: _Planned, result: FixResult, options: argparse.Namespace) -> Raised:
    """The requirements of the project as what was rewritten needs them."""
    changed = {file.path for file in result.changed}
    paths = (file.source.path for file in plan.files if file.source.name in changed)
    taken = {path.absolute() for path in paths if path is not None}
    if not result.rewritten or options.keep_requirements:
        return Raised([], [], [*pins(plan.group.root, (), taken)] if result.rewritten else [])
    target = target_jax(plan.group.config, plan.group.root, options.target_jax)
    return raise_requirements(
        plan.group.root,
        options.paths,
        taken,
        target,
        [file.source.text for file in plan.files],
        writes=not (options.diff or options.check),
    )


def _said(plan: _Planned, result: FixResult, raised: Raised, options: argparse.Namespace) -> Raised:
    """The words of the project, where no pmap is left that they could be about."""
    if has_pmap(plan.files) or (any(file.sites for file in plan.files) and not result.rewritten):
        return raised
    writes = not (options.diff or options.check)
    pages = Raised([], [], [])
    if result.rewritten:
        pages = reword_pages(plan.group.root, options.paths, {file.path for file in raised.files}, writes=writes)
    left = [*raised.left, *(still_said(plan.group.root, options.paths, plan.files) if writes else ())]
    return Raised([*raised.files, *pages.files], [*raised.errors, *pages.errors], left)


def _verified(plan: _Planned, options: argparse.Namespace) -> Largest:
    from jaxmigrate.commands.largest import verify_before_writing

    if options.observe and plan.layout != "stacked":
        from jaxmigrate.commands.observing import Planner, observe_before_writing

        return observe_before_writing(Planner(plan.files, plan.again, plan.observing), plan.group.config, options)
    return verify_before_writing(plan.files, plan.group.config, options, plan.again)


def _left_with_unwritable(planned: Sequence[PlannedFile], withheld: Mapping[str, Withheld]) -> dict[str, Withheld]:
    """The files that are not written because others, which share their global arrays, cannot be."""
    shared = [file for file in planned if file.plan.changed and file.plan.together]
    names = {file.source.name for file in shared if file.source.name not in withheld and not is_writable(file.source)}
    for file in planned:
        if file.plan.new and not may_be_created(file.source):
            names |= file.plan.users - withheld.keys()
            shared += [user for user in planned if user.source.name in file.plan.users and user not in shared]
    return left_with(names, [file.plan for file in shared if file.source.name not in withheld])


def _fix_file(
    file: PlannedFile, withheld: Mapping[str, Withheld], options: argparse.Namespace
) -> tuple[FixedFile, SourceError | None]:
    name = file.source.name
    if not file.plan.changed:
        stays = any(site.status == "left" and site.code == WITHHELD for site in file.sites)
        return FixedFile(name, "withheld" if stays else "unchanged", file.sites, names=file.plan.names), None
    if file.plan.new and file.plan.users <= withheld.keys():
        return FixedFile(name, "unchanged", (), names=()), None
    if name in withheld:
        held = withheld[name]
        return _names_left(with_diff(file, "withheld", _as_left(file, held)), held.reason), None
    if options.diff or options.check or file.source.path is None:
        return with_diff(file, "shown", file.sites), None
    try:
        if file.plan.new:
            create_source(file.source, file.plan.after)
        else:
            write_source(file.source, file.plan.after)
    except SourceError as error:
        failed = _as_left(file, Withheld(error.message, {}))
        return _names_left(with_diff(file, "failed", failed), error.message), error
    return with_diff(file, "written", file.sites), None


def _names_left(file: FixedFile, reason: str) -> FixedFile:
    """A file that was not written, whose old names stay."""
    names = tuple(
        dataclasses.replace(name, status="left", code=WITHHELD, reason=reason) if name.status == "replaced" else name
        for name in file.names
    )
    return dataclasses.replace(file, names=names)


def _as_left(file: PlannedFile, withheld: Withheld) -> tuple[SitePlan, ...]:
    return tuple(
        dataclasses.replace(site, status="left", code=WITHHELD, reason=withheld.of(site.id))
        if site.status == "rewritten"
        else site
        for site in file.sites
    )


def _merged(results: Sequence[FixResult]) -> FixResult:
    return FixResult(
        files=[file for result in results for file in result.files],
        errors=[error for result in results for error in result.errors],
        notebooks=[notebook for result in results for notebook in result.notebooks],
        unused=[one for result in results for one in result.unused],
        evidence=next((result.evidence for result in results if result.evidence is not None), None),
    )


def _tell(result: FixResult, options: argparse.Namespace, from_stdin: bool) -> None:
    """Diffs and source go to standard output by themselves, so that they can be piped; else the story does."""
    if options.diff:
        _print_diffs(result)
    tell = say if options.diff or from_stdin else _print
    if not options.diff and not from_stdin and not is_quiet():
        for file in result.changed:
            tell(f"{file.path}: {_done(file, options.check)}")
            for line in _layouts(file):
                tell(line)
    for line in left_lines((*result.all_left, *(() if is_quiet() else result.kept))):
        tell(line)
    for error in result.errors:
        say(str(error))
    for remark in (*result.notebooks, *result.unused):
        note(remark)
    if result.callers:
        say(_of_callers(result.callers))
    if from_stdin and any(map(is_global, result.rewritten)):
        say("note: standard input was taken for the whole program; if other files call it, use --layout stacked")
    if not is_quiet():
        caution = [f"note: {result.caution}"] if result.caution else []
        for line in (*told(result.assumed), *caution, *_evidence(result)):
            tell(line)
        tell(result.summary())


def _evidence(result: FixResult) -> Iterator[str]:
    """What a verification found."""
    if result.evidence is not None:
        yield f"verification: {result.evidence.verdict.value}: {result.evidence.message}"
        yield from (f"note: {remark}" for remark in result.evidence.notes)
        if result.evidence.ok and (told := briefly(result.evidence)):
            yield told


def _of_callers(callers: Sequence[str]) -> str:
    """That files which use what is rewritten were not given, so that it had to fit them as they are."""
    shown = ", ".join(callers[:MOST_CALLERS])
    more = f" and {len(callers) - MOST_CALLERS} more" if len(callers) > MOST_CALLERS else ""
    use, it, unchanged = ("uses", "it", "it is") if len(callers) == 1 else ("use", "them", "they are")
    return (
        f"note: {shown}{more} {use} rewritten code, but fix was not given {it}: {unchanged} unchanged, "
        f"and the arrays that the code exchanges with {it} stay stacked; run fix on the whole project"
    )


def _layouts(file: FixedFile) -> Iterator[str]:
    """How the rewritten sites of a file hold their arrays, and why some of them, or all, are not global ones."""
    for site in file.sites:
        if site.status == "rewritten" and (is_global(site) or any(a.reason for a in (*site.arguments, *site.outputs))):
            yield f"  {f'cell {site.cell}, ' if site.cell else ''}line {site.line}: {summary(site)}"
            yield from (f"    stacked {reason}" for reason in reasons(site))


def _print(message: str) -> None:
    print(wrapped(printable(message), sys.stdout))


def _done(file: FixedFile, check: bool) -> str:
    if file.remark:
        return file.remark
    sites = plural(sum(1 for site in file.sites if site.status == "rewritten"), "site")
    replaced = sum(1 for name in file.names if name.status == "replaced")
    if replaced and not any(site.status == "rewritten" for site in file.sites):
        return f"{'would replace' if check else 'replaced'} {plural(replaced, 'old name')}"
    if file.is_new:
        return f"{'would add' if check else 'added'}: helpers that several files import"
    if not file.sites and not replaced:
        return f"{'would change' if check else 'changed'}: uses code that is rewritten in another file"
    names = f" and {plural(replaced, 'old name')}" if replaced else ""
    return f"would rewrite {sites}{names}" if check else f"rewrote {sites}{names}"


def _print_diffs(result: FixResult) -> None:
    for file in result.changed:
        print_diff(file.diff, file.encoding)


def _status(result: FixResult, options: argparse.Namespace) -> int:
    if result.errors:
        return 2
    if options.require is not None and GRADES.index(result.grade) > GRADES.index(options.require):
        say(f"--require {options.require} is not met: part of the rewrite is only {result.grade}")
        return 1
    return 1 if result.left or result.left_names or (options.check and result.changed) else 0
