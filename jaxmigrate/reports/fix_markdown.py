"""What `fix` did, for a pull request's description or a job's summary."""

from __future__ import annotations

from jaxmigrate.migrate.plan import NamePlan, SitePlan
from jaxmigrate.reports.alike import told
from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.reports.limits_markdown import not_covered
from jaxmigrate.reports.markdown import escaped, fenced, section, table
from jaxmigrate.reports.site_layouts import grades, is_global, reasons, summary
from jaxmigrate.verify.model import Evidence


def write(result: FixResult) -> str:
    """A page with the summary, a table of sites, what was left and why, and the diff."""
    parts = [
        "# jaxmigrate fix\n",
        f"{result.summary()}.\n",
        *_verification(result.evidence),
        *section("Sites", table(("Place", "Axis", "Mapped", "Status"), map(_row, result.sites))),
        *section(
            "Layouts",
            table(("Place", "Layouts", "Evidence", "Stays stacked"), map(_layout_row, filter(is_global, result.sites))),
        ),
        *section("Not proven", [f"- {escaped(one)}" for one in told(result.assumed)]),
        *([f"{escaped(sentence(result.caution))}\n"] if result.caution else []),
        *section("Left", table(("Place", "Code", "Reason"), map(_left_row, result.all_left))),
        *section("Kept", table(("Place", "Code", "Reason"), map(_left_row, result.kept))),
        *section("Not worked on", [f"- {escaped(str(error))}" for error in result.errors]),
        *section("Notebooks", [f"- {escaped(name)}" for name in result.notebooks]),
        *section("Diff", fenced("".join(file.diff_text for file in result.files), "diff")),
    ]
    return "\n".join(parts)


def sentence(text: str) -> str:
    """A remark as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _verification(evidence: Evidence | None) -> list[str]:
    if evidence is None:
        return []
    return [
        f"Verification: **{evidence.verdict.value}**. {escaped(evidence.message)}\n",
        *section("Not covered", not_covered(evidence)),
    ]


def _row(site: SitePlan) -> tuple[str, str, str, str]:
    return site.place, site.axis or "", site.mapped, site.status


def _layout_row(site: SitePlan) -> tuple[str, str, str, str]:
    return site.place, summary(site), grades(site), "; ".join(reasons(site))


def _left_row(site: SitePlan | NamePlan) -> tuple[str, str, str]:
    return f"{site.place}:{site.column}", site.code, site.reason
