"""`jaxmigrate verify PATH -- COMMAND...`: runs both programs and says whether they agree."""

from __future__ import annotations

import argparse
import shutil
import sys

from jaxmigrate.commands import Failure
from jaxmigrate.commands.inputs import load
from jaxmigrate.commands.original import plan_from_original
from jaxmigrate.commands.planning import PlannedFile, plan_files, with_diff
from jaxmigrate.commands.reporting import write_reports
from jaxmigrate.commands.verification import command, verify_planned
from jaxmigrate.config import Config
from jaxmigrate.reports import verify_text
from jaxmigrate.reports.report import report_of_verify
from jaxmigrate.reports.writing import WRITERS
from jaxmigrate.terminal import say, wants_colour


def run(options: argparse.Namespace) -> int:
    """Verifies a migration; 0 if every site was reached and agreed, else 1.

    Raises:
        Failure: There is nothing to compare or to run, or the verification could not be carried out.
    """
    planned, config = _planned(options)
    command(config, options)
    changed = {file.source.name for file in planned if file.plan.changed}
    if not changed:
        raise Failure(
            f"there is no pmap in {options.path} that `fix` would rewrite; "
            "if it is migrated already, name what it was with --original DIR or --original GITREF"
        )
    evidence = verify_planned(planned, changed, config, options)
    files = [with_diff(file, "shown", file.sites) for file in planned if file.plan.changed]
    report = report_of_verify(evidence, files)
    write_reports(report, options.report, WRITERS)
    sys.stdout.write(verify_text.write(report, wants_colour(sys.stdout), shutil.get_terminal_size((100, 24)).columns))
    return 0 if evidence.ok else 1


def _planned(options: argparse.Namespace) -> tuple[list[PlannedFile], Config]:
    if options.path == "-":
        raise Failure("a program on standard input cannot be verified; name its file or folder")
    (group,) = load([options.path])
    if group.errors and not group.sources:
        raise group.errors[0]
    if options.original is not None:
        return plan_from_original(options.path, options.original, group.sources), group.config
    planned, broken = plan_files(group.sources)
    for error in [*group.errors, *broken]:
        say(str(error))
    return planned, group.config
