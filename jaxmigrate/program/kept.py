"""Which lines a comment asks to keep: `# jaxmigrate: ignore`, by which a user says that code stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from jaxmigrate.findings.suppressions import marks
from jaxmigrate.program.sites import MappedSite, Reference

KEPT = "JM491"


@lru_cache(maxsize=8)
def _asked(text: str) -> Mapping[int, tuple[str, ...]]:
    return {mark.line: mark.codes for mark in marks(text)} if "jaxmigrate:" in text else {}


def asked_at(text: str, lines: Iterable[int], code: str = KEPT, also: str = KEPT) -> int:
    """The first of some lines with a comment that keeps what the rule `code` is about there; 0 where none does.

    A comment without codes does, and so does one with the rule's own, with JM491, or with the beginning of either.
    `also` is what serves beside the rule's own code.
    """
    asked = _asked(text)
    if not asked:
        return 0
    found = (line for line in lines if any(c.startswith(one) for one in asked.get(line, ()) for c in (code, also)))
    return next(found, 0)


def lines_of_reference(reference: Reference) -> Iterator[int]:
    """The lines of a reference to pmap on which a comment is about it: its own, and the ends of its call."""
    yield reference.node.lineno
    if reference.call is not None:
        yield from (reference.call.lineno, reference.call.end_lineno or reference.call.lineno)


def lines_of_site(site: MappedSite) -> Iterator[int]:
    """The lines of a site on which a comment is about it: its ends, and what is called there."""
    yield from (site.node.lineno, site.node.end_lineno or site.node.lineno, site.callee.end_lineno or 0)
