"""The pieces of HTML that pages are made of; everything that comes from outside is escaped here.

A template engine would be the only dependency of `verify` and `status`; what they show is a few tables and lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


def code(text: str) -> str:
    """Text as code, or nothing."""
    return f"<code>{escape(text)}</code>" if text else ""


def prose(text: str) -> str:
    """A sentence, with what stands between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def section(title: str, parts: Iterable[str]) -> str:
    """A section with a heading, or nothing where it would be empty."""
    body = "\n".join(part for part in parts if part)
    return f"<h2>{escape(title)}</h2>\n{body}" if body else ""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of cells that are HTML already; the columns `numbers` are set flush right. Nothing without rows."""
    right = {*numbers}
    lines = [f"<tr>{_cells('td', row, right)}</tr>" for row in rows]
    if not lines:
        return ""
    head = _cells("th", [escape(title) for title in header], right)
    body = "\n".join(lines)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _cells(tag: str, cells: Sequence[str], right: set[int]) -> str:
    kinds = (' class="number"' if column in right else "" for column in range(len(cells)))
    return "".join(f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))


def pairs(items: Iterable[tuple[str, str]]) -> str:
    """Names with what they mean, of which the latter is HTML already; those that mean nothing are left out."""
    lines = [f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in items if value]
    return f"<dl>{''.join(lines)}</dl>" if lines else ""


def preformatted(text: str) -> str:
    """Text as it was printed, or nothing."""
    return f"<pre>{escape(text)}</pre>" if text.strip() else ""
