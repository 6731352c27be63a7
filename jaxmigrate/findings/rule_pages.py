"""The rules' pages, found by code without importing a rule.

Each rule's folder has a README.md whose first heading is its code and its title, `# JM101: unbound axis name`. The
list of rules, `jaxmigrate rule CODE` and the titles in reports all come from there.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator
from typing import NamedTuple

_HEADING = re.compile(r"#\s+(JM\d{3})\W+(.+?)\s*$", re.MULTILINE)

_FOLDER = re.compile(r"jm\d{3}_")


class RulePage(NamedTuple):
    """A rule's code, its title, and its page in Markdown."""

    code: str
    title: str
    text: str


def rule_pages() -> dict[str, RulePage]:
    """Every rule's page by its code, in the order of the codes."""
    return {page.code: page for page in sorted(_pages())}


def rule_codes() -> list[str]:
    """The codes of all rules, by the names of their folders alone."""
    names = (folder.name for folder in importlib.resources.files("jaxmigrate.rules").iterdir())
    return [name[:5].upper() for name in names if _FOLDER.match(name)]


def begins_a_code(text: str) -> bool:
    """Whether a text is the code of a rule, or the beginning of one."""
    return any(code.startswith(text) for code in rule_codes())


def rule_titles() -> dict[str, str]:
    """Every rule's title by its code."""
    return {code: page.title for code, page in rule_pages().items()}


def _pages() -> Iterator[RulePage]:
    for folder in importlib.resources.files("jaxmigrate.rules").iterdir():
        readme = folder / "README.md"
        if folder.is_dir() and readme.is_file():
            text = readme.read_text(encoding="utf-8")
            if heading := _HEADING.match(text):
                yield RulePage(heading[1], heading[2], text)
