"""The marks that git leaves in a file for a conflict between two versions of it."""

from __future__ import annotations

import re

_START = re.compile(r"^<<<<<<< ", re.MULTILINE)
_END = re.compile(r"^>>>>>>> ", re.MULTILINE)


def unresolved(text: str, line: int = 0) -> str:
    """What to say of the first conflict in a text that cannot be read; empty where an earlier line is to blame."""
    start = _START.search(text)
    if start is None or _END.search(text, start.end()) is None:
        return ""
    begins = text.count("\n", 0, start.start()) + 1
    return f"a merge conflict that begins on line {begins} is not resolved" if not line or line >= begins else ""
