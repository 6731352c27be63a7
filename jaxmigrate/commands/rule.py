"""`jaxmigrate rule [CODE]`: what there is, and what one of them means."""

from __future__ import annotations

import argparse
import difflib
import sys

from jaxmigrate.commands import Failure
from jaxmigrate.findings.rule_pages import RulePage, rule_pages
from jaxmigrate.flow.layout.reasons import stacked_cause
from jaxmigrate.program.old_names import OldName, old_names, rows_of


def run(options: argparse.Namespace) -> int:
    """Prints the list of rules, the page of one, a cause for stacked arrays, or what is known of an old name.

    Raises:
        Failure: There is no such rule.
    """
    pages = rule_pages()
    if options.code is None:
        sys.stdout.write("".join(f"{page.code}  {page.title}\n" for page in pages.values()))
    elif (cause := stacked_cause(options.code.strip().lower())) is not None:
        sys.stdout.write(f"# {cause.anchor}: {cause.title}\n\n{cause.means}\n\n## What to do\n{cause.advice}\n")
    elif (row := old_names().get(options.code.strip())) is not None:
        sys.stdout.write(f"{row.told}\n\n`jaxmigrate rule {row.code}` says more.\n")
    else:
        sys.stdout.write(whole(_page(options.code.strip(), pages)))
    return 0


def _page(code: str, pages: dict[str, RulePage]) -> RulePage:
    if code.upper() not in pages:
        close = difflib.get_close_matches(code.upper(), pages, n=1)
        hint = f"did you mean {close[0]}?" if close else "`jaxmigrate rule` lists them"
        raise Failure(f"there is no rule {code!r}; {hint}")
    return pages[code.upper()]


def whole(page: RulePage) -> str:
    """The page of a rule, with what `lint --fix` does about it and the old names that it is about."""
    from jaxmigrate.rules import fixes

    fix = fixes().get(page.code)
    told = f"\n## Fix\nSafe, by `jaxmigrate lint --fix`: {fix}.\n" if fix else ""
    text, references, links = page.text.partition("\n## References\n")
    return f"{text}{told}{references}{links}{names_table(page.code)}"


def names_table(code: str) -> str:
    """The rows of the table of old names that a rule is about, in Markdown."""
    rows = [_row(row) for row in rows_of(code)]
    if not rows:
        return ""
    heading = "| old name | deprecated | removed | use | since | note |\n|---|---|---|---|---|---|\n"
    return f"\n## Names\n{heading}{''.join(rows)}"


def _row(row: OldName) -> str:
    use = f"`{row.replacement}`" if row.replacement else ""
    return f"| `{row.name}` | {row.since} | {row.removed} | {use} | {row.needs} | {row.note} |\n"
