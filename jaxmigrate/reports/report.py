"""What a report has to tell of a rewrite, of a verification, or of both: plain data for every format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxmigrate.migrate.plan import ArrayLayout, Assumed, SitePlan
from jaxmigrate.reports.fix_result import FixedFile, FixResult
from jaxmigrate.sources import shown_path
from jaxmigrate.terminal import plural
from jaxmigrate.verify.model import Evidence, SiteEvidence, SiteInfo


@dataclass(frozen=True)
class Report:
    """The parts of a report, each of which may be missing.

    Attributes:
        title: What was done, as the user typed it: `fix` or `verify`.
        summary: One line on the rewrite, empty where there was none.
        files: The files that were looked at, with their sites and diffs.
        errors: What could not be read, parsed or written.
        notebooks: Remarks on notebooks.
        evidence: What the runs of both programs showed.
        links: Where the project's files can be read, without the path; empty where nobody has said.
    """

    title: str
    summary: str = ""
    files: Sequence[FixedFile] = ()
    errors: Sequence[str] = ()
    notebooks: Sequence[str] = ()
    evidence: Evidence | None = None
    links: str = ""

    @property
    def rows(self) -> tuple[SiteRow, ...]:
        """Every site once, with what was planned for it and what the runs say of it."""
        found = {site.site.id: site for site in self.evidence.sites} if self.evidence is not None else {}
        plans = [plan for file in self.files for plan in file.sites]
        planned = [_row_of_plan(plan, found.pop(plan.id, None)) for plan in plans]
        return (*planned, *(_row_of_evidence(evidence) for evidence in found.values()))

    @property
    def good(self) -> bool | None:
        """Whether everything that was verified agrees; None where nothing was verified."""
        return self.evidence.ok if self.evidence is not None else None

    @property
    def headline(self) -> str:
        """A few words that say how it went."""
        if self.evidence is not None:
            return self.evidence.verdict.value.capitalize()
        return "Rewritten, not verified" if any(file.diff for file in self.files) else "Nothing to rewrite"


@dataclass(frozen=True)
class SiteRow:
    """One mapped site with all that is known of it."""

    id: str
    path: str
    line: int
    axis: str
    name: str
    status: str
    code: str = ""
    reason: str = ""
    arguments: tuple[ArrayLayout, ...] = ()
    outputs: tuple[ArrayLayout, ...] = ()
    evidence: SiteEvidence | None = None
    cell: int = 0
    assumed: tuple[Assumed, ...] = ()

    @property
    def place(self) -> str:
        """Where the site stands, as `path:line`, or `path:cell 3:line` in a notebook."""
        return f"{shown_path(self.path, self.cell)}:{self.line}" if self.path else self.id

    @property
    def verdict(self) -> str:
        """The verdict, or why there is none."""
        if self.evidence is not None:
            return self.evidence.verdict.value
        return "left" if self.status == "left" else "not verified"


def _row_of_plan(plan: SitePlan, evidence: SiteEvidence | None) -> SiteRow:
    return SiteRow(
        id=plan.id,
        path=plan.path,
        line=plan.line,
        axis=plan.axis or "",
        name=SiteInfo(plan.id, name=plan.mapped).label,
        status=plan.status,
        code=plan.code,
        reason=plan.reason,
        arguments=plan.arguments,
        outputs=plan.outputs,
        evidence=evidence,
        cell=plan.cell,
        assumed=plan.assumed,
    )


def _row_of_evidence(evidence: SiteEvidence) -> SiteRow:
    site = evidence.site
    return SiteRow(site.id, site.path, site.line, site.axis, site.label, "rewritten", evidence=evidence, cell=site.cell)


def report_of_fix(result: FixResult) -> Report:
    """The report of `fix`."""
    errors = [str(error) for error in result.errors]
    return Report("fix", result.summary(), result.files, errors, result.notebooks, result.evidence)


def report_of_verify(evidence: Evidence, files: Sequence[FixedFile] = ()) -> Report:
    """The report of `verify`; with `files` it also shows the rewrite that was verified."""
    sites = sum(len(file.sites) for file in files)
    return Report(
        "verify", f"{plural(sites, 'site')} in {plural(len(files), 'file')}" if sites else "", files, (), (), evidence
    )


def as_report(told: Report | Evidence) -> Report:
    """What the writers of verifications are given, as a report."""
    return told if isinstance(told, Report) else report_of_verify(told)
