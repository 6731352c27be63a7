"""Whether a text that does not parse may be Python of a later release than the one that runs this."""

from __future__ import annotations

import ast
import re
import warnings

_NEWER = re.compile(
    r"^[ \t]*(?:"
    r"(?:class|def|async[ \t]+def)[ \t]+\w+[ \t]*\["  # type parameters, 3.12
    r"|type[ \t]+\w+[ \t]*[\[=]"  # 3.12
    r"|except\*?[ \t]+[\w.]+[ \t]*,[^:\n]*:"  # exceptions without parentheses, 3.14
    r"|lazy[ \t]+(?:import|from)\b"  # 3.15
    r")"
    r"|(?<!\w)[rR]?[tT][rR]?[\"']",  # templates, 3.14
    re.MULTILINE,
)


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
