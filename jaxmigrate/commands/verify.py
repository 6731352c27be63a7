"""`jaxmigrate verify PATH -- COMMAND...`: runs both programs and says whether they agree."""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys

from jaxmigrate.commands import Failure
from jaxmigrate.commands.assumptions import declared_in
from jaxmigrate.commands.beside import texts_beside
from jaxmigrate.commands.inputs import Inputs, load
from jaxmigrate.commands.original import Origin, find_original
from jaxmigrate.commands.planning import PlannedFile, plan_files, with_diff
from jaxmigrate.commands.reporting import links, write_reports
from jaxmigrate.commands.verification import commands, verify_by_hand, verify_planned
from jaxmigrate.commands.waiting import under_way
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.reports import verify_text
from jaxmigrate.reports.diff import unified_diff
from jaxmigrate.reports.fix_result import FixedFile
from jaxmigrate.reports.report import report_of_verify
from jaxmigrate.reports.writing import WRITERS
from jaxmigrate.terminal import is_quiet, plural, say, wants_colour
from jaxmigrate.verify.model import Evidence


def run(options: argparse.Namespace) -> int:
    """Verifies a migration; 0 if every site was reached and agreed, else 1.

    Raises:
        Failure: There is nothing to compare or to run, or the verification could not be carried out.
    """
    inputs = _inputs(options)
    commands(inputs.config, options)
    origin = _origin(inputs, options) if options.original is not None else None
    if origin is not None and origin.by_hand:
        evidence, files = _verify_by_hand(origin, inputs, options)
    else:
        evidence, files = _verify_rewrite(origin.planned if origin is not None else _planned(inputs), inputs, options)
    report = dataclasses.replace(report_of_verify(evidence, files), links=links())
    write_reports(report, options.report, WRITERS)
    if is_quiet() and evidence.ok:
        return 0
    sys.stdout.write(verify_text.write(report, wants_colour(sys.stdout), shutil.get_terminal_size((100, 24)).columns))
    return 0 if evidence.ok else 1


def _origin(inputs: Inputs, options: argparse.Namespace) -> Origin:
    beside = texts_beside(inputs.sources, inputs.config)
    return find_original(options.path, options.original, inputs.sources, beside, declared_in(inputs.config))


def _verify_rewrite(
    planned: list[PlannedFile], inputs: Inputs, options: argparse.Namespace
) -> tuple[Evidence, list[FixedFile]]:
    """Verifies what `fix` makes of a program."""
    changed = {file.source.name for file in planned if file.plan.changed}
    if not changed:
        raise Failure(
            f"there is no pmap in {options.path} that `fix` would rewrite; "
            "if it is already migrated, give the version before with --original DIR or --original GITREF"
        )
    evidence = verify_planned(planned, changed, inputs.config, options)
    return evidence, [with_diff(file, "shown", file.sites) for file in planned if file.plan.changed]


def _verify_by_hand(origin: Origin, inputs: Inputs, options: argparse.Namespace) -> tuple[Evidence, list[FixedFile]]:
    """Verifies what somebody made of a program; every site of the original must have something that stands for it."""
    if not any(word in file.source.text for file in origin.planned for word in ("pmap", "shard_map", "jit")):
        raise Failure(
            f"there is no pmap, shard_map or jit in {options.original}, "
            f"so there is nothing to compare {options.path} with"
        )
    evidence = verify_by_hand(origin, inputs.sources, inputs.config, options)
    migrated = {source.name: source.raw for source in inputs.sources}
    files = [
        FixedFile(
            file.source.name,
            "shown",
            tuple(dataclasses.replace(site, status="rewritten", arguments=(), outputs=()) for site in file.sites),
            unified_diff(file.source.name, file.source.raw, migrated.get(file.source.name, b"")),
            file.source.encoding,
        )
        for file in origin.planned
    ]
    return evidence, [file for file in files if file.diff or file.sites]


def _inputs(options: argparse.Namespace) -> Inputs:
    if options.path == "-":
        raise Failure("a program on standard input cannot be verified; name its file or folder")
    (group,) = load([options.path])
    if group.errors and not group.sources:
        raise group.errors[0]
    return group


def _planned(inputs: Inputs) -> list[PlannedFile]:
    beside = texts_beside(inputs.sources, inputs.config)
    with under_way(f"planning {plural(len(inputs.sources), 'file')}"):
        planned, broken = plan_files(
            inputs.sources,
            PlanOptions(inputs.config.layout, declared=declared_in(inputs.config), marks=True),
            beside,
        )
    for error in [*inputs.errors, *broken]:
        say(str(error))
    return planned
