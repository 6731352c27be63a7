"""Whether a text that does not parse may be Python of a later release than the one that runs this, and of which."""

from __future__ import annotations

import ast
import re
import sys
import warnings

from jaxmigrate.sources.conflicts import unresolved

_SINCE = (
    ((3, 12), r"^[ \t]*(?:class|def|async[ \t]+def)[ \t]+\w+[ \t]*\["),  # type parameters
    ((3, 12), r"^[ \t]*type[ \t]+\w+[ \t]*[\[=]"),
    ((3, 14), r"^[ \t]*except\*?[ \t]+[\w.]+[ \t]*,[^:\n]*:"),  # exceptions without parentheses
    ((3, 14), r"(?<!\w)[rR]?[tT][rR]?[\"']"),  # templates
    ((3, 15), r"^[ \t]*lazy[ \t]+(?:import|from)\b"),
)
_NEWER = re.compile("|".join(pattern for _, pattern in _SINCE), re.MULTILINE)
_VERSIONS = [(version, re.compile(pattern)) for version, pattern in _SINCE]
_OLD_EXCEPT = re.compile(r"^[ \t]*except[ \t]+[\w.]+[ \t]*,[ \t]*[a-z]\w*[ \t]*:")  # Python 2's `except E, e:`


def may_be_newer(text: str) -> bool:
    """Whether what keeps a text from being parsed may be syntax that came later, and not a mistake."""
    if _NEWER.search(text):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error.msg.startswith("f-string")  # which hold any expression since 3.12
    except (ValueError, RecursionError, MemoryError):
        return False
    return False


def described(error: SyntaxError, text: str) -> str:
    """What is wrong with a text that does not parse; where its line is Python of a later release, which one that is."""
    lines = text.split("\n")
    if conflict := unresolved(text, error.lineno or 0):
        return f"cannot be parsed: {conflict}"
    line = lines[error.lineno - 1] if error.lineno is not None and 0 < error.lineno <= len(lines) else ""
    since = [version for version, pattern in _VERSIONS if pattern.search(line) and not _OLD_EXCEPT.match(line)]
    if error.msg.startswith("f-string expression part cannot include"):  # a backslash or a comment
        since.append((3, 12))
    message = f"cannot be parsed: {error.msg}"
    if not since or sys.version_info >= since[0]:
        return message
    own, needed = (".".join(map(str, version[:2])) for version in (sys.version_info, since[0]))
    return f"{message}; this is syntax of Python {needed}, and jaxmigrate runs on {own}"
