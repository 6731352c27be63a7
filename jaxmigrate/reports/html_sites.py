"""Which part of which diff belongs to which site, so that a site stands beside its own change."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from jaxmigrate.reports.html_diff import pieces, side_by_side
from jaxmigrate.reports.html_text import code
from jaxmigrate.reports.report import Report, SiteRow


def anchor(row: SiteRow) -> str:
    """Where the page has a site."""
    return "site-" + "".join(character if character.isalnum() else "-" for character in row.id)


def at_line(path: str) -> str:
    """What stands before the number of a line where the page has it in a file's diff."""
    return "line-" + "".join(character if character.isalnum() else "-" for character in path) + "-"


@dataclass
class Changes:
    """The diff of each site by its id, the site that shows a change which two share, and what is left of each file."""

    own: dict[str, str] = field(default_factory=dict)
    shared: dict[str, SiteRow] = field(default_factory=dict)
    rest: dict[str, str] = field(default_factory=dict)

    def of_site(self, row: SiteRow) -> str:
        """A site's change as HTML, or where it is shown."""
        if row.id in self.own:
            return side_by_side(self.own[row.id], at_line(row.path))
        other = self.shared.get(row.id)
        return f'<p>Its change is shown at <a href="#{anchor(other)}">{code(other.place)}</a>.</p>' if other else ""


def site_changes(report: Report) -> Changes:
    """Gives each stretch of a diff to the first site in it. Those of notebooks stay whole: their lines are cells'."""
    found = Changes()
    of_file: defaultdict[str, list[SiteRow]] = defaultdict(list)
    for row in report.rows:
        of_file[row.path].append(row)
    for file in report.files:
        if not file.diff:
            continue
        rest = []
        owner: SiteRow | None = None
        for piece in pieces(file.diff_text):
            inside = [row for row in of_file[file.path] if not row.cell and piece.holds(row.line)]
            if inside or not piece.continues:
                owner = inside[0] if inside else None
            if owner is None:
                rest.append(piece.text)
                continue
            heading = piece._replace(continues=piece.continues and owner.id in found.own)
            found.own[owner.id] = found.own.get(owner.id, "") + heading.text
            found.shared.update((row.id, owner) for row in inside if row.id not in found.own)
        if rest:
            found.rest[file.path] = "".join(rest)
    return found
