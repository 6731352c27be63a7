"""What a verification does not say, as Markdown."""

from __future__ import annotations

from html import escape

from jaxmigrate.reports.limits import limits, untouched
from jaxmigrate.reports.markdown import escaped
from jaxmigrate.verify.model import Evidence


def not_covered(evidence: Evidence | None) -> list[str]:
    """What green does not say, with the sites that do not count in a fold."""
    if evidence is None:
        return []
    lines = [f"- {escaped(text.replace('`', ''))}" for text in limits(evidence)]
    names = "".join(f"<li>{escape(name)}</li>" for name in evidence.untouched)
    fold = f"<details><summary>{escape(untouched(evidence))}</summary><ul>{names}</ul></details>"
    return [*lines, "", fold] if names else lines
