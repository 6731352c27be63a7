"""What a repository's `.gitignore` files leave out, so that nobody has to say so again.

Read here, not by a library, as `lint` imports none; the tests hold it against git itself.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.records import record

FILE = ".gitignore"
_TOKEN = re.compile(r"\\.|\*+|\[(?:!|\^)?(?:\]|\[:\w+:\]|\\.|[^]])(?:\[:\w+:\]|\\.|[^]\\])*\]|.", re.DOTALL)
_IN_SET = re.compile(r"\[:(\w+):\]|\\?(.)", re.DOTALL)
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "xdigit": "0-9a-fA-F", "blank": r" \t", "punct": re.escape(string.punctuation),
}  # fmt: skip
NOTHING = "(?!)"
_TRAILING = re.compile(r"(?<!\\) +$|(?<=\\ ) +$")


class _Rule(NamedTuple):
    """Patterns of one file that stand together: what they match is ignored, or is not after all if `kept`."""

    kept: bool
    folders_only: bool
    pattern: re.Pattern[str]


@record
class Ignored:
    """The rules that hold in a folder: those of its own file after those of the folders above."""

    above: Ignored | None
    folder: str
    rules: tuple[_Rule, ...]

    def covers(self, path: str, is_folder: bool) -> bool:
        """Whether a path in the folder or below is left out; the last pattern that fits decides, nearest file first."""
        inside = path[len(self.folder) + 1 :] if self.folder else path
        for rule in reversed(self.rules):
            if (is_folder or not rule.folders_only) and rule.pattern.match(inside):
                return not rule.kept
        return self.above is not None and self.above.covers(path, is_folder)


def rules_at(start: Path) -> Ignored | None:
    """The rules that the repository around a folder has for it, those of the folder's own file left out."""
    found: Ignored | None = None
    for folder in _up_to_repository(start):
        found = rules_in(folder, found)
    return found


def rules_in(folder: Path, above: Ignored | None) -> Ignored | None:
    """The rules that hold in a folder, `above` those of the folder that it lies in."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return above
    rules = tuple(_rules(text))
    return Ignored(above, folder.as_posix(), rules) if rules else above


def _up_to_repository(start: Path) -> list[Path]:
    """The folders above, from the one that holds `.git` downward; none where there is no repository."""
    for number, folder in enumerate(start.parents):
        if (start / ".git").exists():
            return []
        if (folder / ".git").exists():
            return list(reversed(start.parents[: number + 1]))
    return []


def _rules(text: str) -> Iterator[_Rule]:
    lines = [_TRAILING.sub("", line) for line in text.splitlines()]
    meant = [line for line in lines if line and not line.startswith("#")]
    for (kept, folders_only), patterns in groupby(meant, lambda line: (line.startswith("!"), line.endswith("/"))):
        alternatives = [_expression(pattern.removeprefix("!")) for pattern in patterns]
        yield _Rule(kept, folders_only, re.compile("|".join(f"(?:{one})" for one in alternatives), re.DOTALL))


def _expression(pattern: str) -> str:
    """The regular expression of the paths that a pattern means; what lies in a folder of these is not asked about."""
    is_anchored = "/" in pattern.rstrip("/")
    tokens = _TOKEN.findall(pattern.removeprefix("/").removesuffix("/"))
    found = ["" if is_anchored else "(?:.*/)?"]
    for number, token in enumerate(tokens):
        before, after = "".join(tokens[number - 1 : number]), "".join(tokens[number + 1 : number + 2])
        if is_anchored and token.startswith("**") and before in ("", "/") and after in ("", "/"):
            found.append("(?:.*/)?" if after else ".+")
        elif token != "/" or not found[-1].startswith("(?:.*/)"):  # which has its slash
            found.append(_translate(token))
    return f"{''.join(found)}\\Z"


def _translate(token: str) -> str:
    if token.startswith("*"):
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if token.startswith("["):
        return _set(token) if len(token) > 1 else NOTHING  # one that is not closed fits nothing
    return re.escape(token.removeprefix("\\") if len(token) > 1 else token)


def _set(token: str) -> str:
    """A set of characters, none of which is a slash."""
    inside = token[1:-1]
    is_negated = inside[:1] in ("!", "^")
    parts = (
        _CLASSES.get(one[1], "") if one[1] else one[0] if one[0] == "-" else re.escape(one[2])
        for one in _IN_SET.finditer(inside[is_negated:])
    )
    found = f"(?!/)[{'^' * is_negated}{''.join(parts)}]"
    try:
        re.compile(found)
    except re.error:  # a range that runs backwards
        return NOTHING
    return found
