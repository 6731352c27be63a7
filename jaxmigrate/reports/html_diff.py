"""A unified diff as a table with both versions side by side, and what changed within a line marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from typing import NamedTuple

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_WORDS = re.compile(r"\w+|\s+|.")
_OLD_NUMBER = re.compile(r'<tr><td( class="at[^"]*")>(\d+)<')
# Below this similarity two lines are better read as one that went and one that came.
_ALIKE = 0.4
# So many unchanged lines part two changes.
_APART = 2


@dataclass(frozen=True)
class _Line:
    number: int
    text: str


def side_by_side(diff: str, at: str = "") -> str:
    """The table for one file's diff; empty for an empty diff.

    Links lead to `at` and the number of a line as it was, where that is given.
    """
    rows = "\n".join(_rows(_hunks(diff)))
    if at:
        rows = _OLD_NUMBER.sub(lambda found: f'<tr><td id="{at}{found[2]}"{found[1]}>{found[2]}<', rows)
    if not rows:
        return ""
    columns = '<colgroup><col class="at"><col><col class="at"><col></colgroup>'
    return f'<div class="scroll"><table class="diff">{columns}<tbody>\n{rows}\n</tbody></table></div>'


class Piece(NamedTuple):
    """A run of changes in a diff, with unchanged lines around it.

    Attributes:
        start: Its first line in the file as it was; `length`: how many it has there.
        continues: Whether it begins where the piece before it ends.
        lines: The diff's lines.
        new: Its first line in the file as it is.
    """

    start: int
    length: int
    continues: bool
    lines: tuple[str, ...]
    new: int

    def holds(self, line: int) -> bool:
        """Whether a line of the file as it was is in it."""
        return self.start <= line < self.start + max(self.length, 1)

    @property
    def text(self) -> str:
        """The piece as a diff; without a heading where it continues another."""
        heading = () if self.continues else (f"@@ -{self.start} +{self.new} @@",)
        return "".join(f"{line}\n" for line in (*heading, *self.lines))


def pieces(diff: str) -> list[Piece]:
    """The runs of changes in a file's diff, in order."""
    found: list[Piece] = []
    old = new = unchanged = 0
    changed = False
    for line in _hunks(diff):
        if head := _HUNK.match(line):
            old, new = int(head[1]), int(head[2])
            found.append(Piece(old, 0, False, (), new))
            changed, unchanged = False, 0
        elif line[:1] in ("-", "+"):
            if changed and unchanged >= _APART:
                found.append(Piece(old, 0, True, (), new))
            changed, unchanged = True, 0
        elif line[:1] == " ":
            unchanged += 1
        if line[:1] in ("-", "+", " "):
            last, was = found[-1], line[0] != "+"
            found[-1] = last._replace(length=last.length + was, lines=(*last.lines, line))
            old, new = old + was, new + (line[0] != "-")
    return found


def counts(diff: str) -> tuple[int, int]:
    """How many lines came, and how many went."""
    lines = _hunks(diff)
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _hunks(diff: str) -> list[str]:
    """The lines without the file names at the top, which are told from changes by nothing but their place."""
    lines = diff.split("\n")
    start = next((number for number, line in enumerate(lines) if _HUNK.match(line)), len(lines))
    return lines[start:]


def _rows(lines: list[str]) -> Iterator[str]:
    old, new = 0, 0
    cut: list[_Line] = []
    added: list[_Line] = []
    for line in lines:
        hunk = _HUNK.match(line)
        if line[:1] == "-":
            cut.append(_Line(old, line[1:]))
            old += 1
        elif line[:1] == "+":
            added.append(_Line(new, line[1:]))
            new += 1
        elif hunk or line[:1] == " ":
            yield from _changed(cut, added)
            cut, added = [], []
            if hunk:
                old, new = int(hunk[1]), int(hunk[2])
                yield f'<tr><td class="hunk" colspan="4">{escape(line)}</td></tr>'
            else:
                yield _row(_cell(old, escape(line[1:])), _cell(new, escape(line[1:])))
                old, new = old + 1, new + 1
    yield from _changed(cut, added)


def _changed(cut: list[_Line], added: list[_Line]) -> Iterator[str]:
    """The rows of a change: lines that are alike stand beside each other, what changed in them marked."""
    for position in range(max(len(cut), len(added))):
        before = cut[position] if position < len(cut) else None
        after = added[position] if position < len(added) else None
        texts = _marked(before.text, after.text) if before and after else None
        left = _cell(before.number, texts[0] if texts else escape(before.text), "cut") if before else _NONE
        right = _cell(after.number, texts[1] if texts else escape(after.text), "add") if after else _NONE
        yield _row(left, right)


_NONE = '<td class="at none"></td><td class="none"></td>'


def _row(left: str, right: str) -> str:
    return f"<tr>{left}{right}</tr>"


def _cell(number: int, text: str, kind: str = "") -> str:
    return f'<td class="at {kind}">{number}</td><td class="{kind}">{text}</td>'


def _marked(before: str, after: str) -> tuple[str, str]:
    """Both lines with the words marked that are not in the other one."""
    ours, theirs = _WORDS.findall(before), _WORDS.findall(after)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return escape(before), escape(after)
    left, right = [], []
    for tag, start, end, start_after, end_after in matcher.get_opcodes():
        old, new = escape("".join(ours[start:end])), escape("".join(theirs[start_after:end_after]))
        left.append(old if tag == "equal" or not old else f"<del>{old}</del>")
        right.append(new if tag == "equal" or not new else f"<ins>{new}</ins>")
    return "".join(left), "".join(right)
