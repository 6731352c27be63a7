"""`jaxmigrate rule [CODE]`: what there is, and what one of them means."""

from __future__ import annotations

import argparse
import difflib
import sys

from jaxmigrate.commands import Failure
from jaxmigrate.rule_pages import RulePage, rule_pages


def run(options: argparse.Namespace) -> int:
    """Prints the list of rules, or the page of one.

    Raises:
        Failure: There is no such rule.
    """
    pages = rule_pages()
    if options.code is None:
        sys.stdout.write("".join(f"{page.code}  {page.title}\n" for page in pages.values()))
    else:
        sys.stdout.write(_page(options.code.strip().upper(), pages).text)
    return 0


def _page(code: str, pages: dict[str, RulePage]) -> RulePage:
    if code not in pages:
        close = difflib.get_close_matches(code, pages, n=1)
        hint = f"did you mean {close[0]}?" if close else "`jaxmigrate rule` lists them"
        raise Failure(f"there is no rule {code!r}; {hint}")
    return pages[code]
