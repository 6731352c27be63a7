"""Why arrays stay stacked: each site's reasons, and once for all sites what can be done about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from jaxmigrate.flow.layout.reasons import CAUSES
from jaxmigrate.reports.html_text import prose
from jaxmigrate.reports.report import SiteRow
from jaxmigrate.reports.site_layouts import reasons, summary

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def stacked(row: SiteRow) -> Iterator[str]:
    """A site's reasons as HTML, each with a link to what can be done."""
    common = summary(row).removeprefix("all stacked: ") if row.status == "rewritten" else ""
    told = list(reasons(row)) if not common.startswith(("all", "nothing")) and row.arguments else []
    if row.status == "rewritten" and not told and summary(row).startswith("all stacked: "):
        told = [f"all: {common}"]
    cause_of = {array.reason: array.cause for array in (*row.arguments, *row.outputs)}
    for one in told:
        names, _, reason = one.partition(": ")
        cause = cause_of.get(reason, "")
        link = f' <a href="#stacked-{cause}">{escape(cause)}</a>' if cause else ""
        yield f"{prose(names)}: {prose(reason)}{link}"


def causes(rows: Iterable[SiteRow]) -> str:
    """What the causes on the page mean, and what to do."""
    met = {array.cause for row in rows for array in (*row.arguments, *row.outputs)}
    parts = [
        f'<dt id="stacked-{one.anchor}">{escape(one.anchor)}</dt><dd>{_plain(one.means)} '
        f"<b>What to do:</b> {_plain(one.advice)}</dd>"
        for one in CAUSES
        if one.anchor in met
    ]
    return f"<dl>{''.join(parts)}</dl>" if parts else ""


def _plain(text: str) -> str:
    """Markdown of the table's kind as HTML; the pages that it links to are not beside a report."""
    return prose(_LINK.sub(r"\1", text))
