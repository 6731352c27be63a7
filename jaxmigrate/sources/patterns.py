"""Path patterns of `exclude` and `per-file-ignores`: `*` and `?` stay within a name, `**` crosses folders."""

from __future__ import annotations

import re
from functools import cache

_TOKEN = re.compile(r"\*\*/|\*\*|\[!?\]?[^]]*\]|.", re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Whether a relative path with forward slashes, or a folder above it, matches a pattern.

    A pattern without a slash means a name at any depth, one with a slash starts at the project's folder.
    """
    return _compiled(pattern).match(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(expression(pattern), re.DOTALL)


def expression(pattern: str) -> str:
    """The regular expression that a pattern stands for."""
    anchored = "/" in pattern.rstrip("/")
    body = "".join(_translate(token) for token in _TOKEN.findall(pattern.strip("/")))
    return f"{'' if anchored else '(?:.*/)?'}{body}(?:/.*)?\\Z"


def _translate(token: str) -> str:
    special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if token in special:
        return special[token]
    if len(token) > 1:
        inside = token[1:-1].replace("\\", "\\\\")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    return re.escape(token)
