"""The oldest release of JAX that a project says it works with, read from where projects say such things."""

from __future__ import annotations

import re
from pathlib import Path

OLDEST = (0, 6, 1)
FILES = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "requirements/requirements.txt")
_REQUIREMENT = re.compile(
    r"""(?:^|["'\s,=])jax\s*(?:\[[^\]]*\])?\s*\(?\s*(?P<how>>=|==|~=|>)\s*(?P<version>\d+(?:\.\d+)+)""", re.MULTILINE
)
_COMMENT = re.compile(r"(?m)(?:^|\s)#.*$")


def required_jax(root: Path) -> tuple[int, ...] | None:
    """The lower bound that the files of a project's folder set for `jax`, 0.6.1 if it is lower; None without one.

    0.6.1 is the first release that has what is written: a program that asks for less will ask for more.
    """
    bounds = [bound for name in FILES if (bound := _bound(root / name)) is not None]
    return max(OLDEST, min(bounds)) if bounds else None


def _bound(file: Path) -> tuple[int, ...] | None:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = [tuple(map(int, m["version"].split("."))) for m in _REQUIREMENT.finditer(_COMMENT.sub("", text))]
    return min(found) if found else None
