"""Lines of a cell, and where Python stands at the end of each: a magic can only begin where a logical line does."""

from __future__ import annotations

import re

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_TOKENS = re.compile(
    r"(?P<comment>\#)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<quote>\"\"\"|'''|\"|')|(?P<assign>(?<![=!<>])=\s*[%!])"
)
_STRING_ENDS = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote}", re.DOTALL) for quote in ('"""', "'''")} | {
    quote: re.compile(rf"(?:\\.|[^\\{quote}])*{quote}", re.DOTALL) for quote in ('"', "'")
}


def lines_of(source: str) -> list[str]:
    """The lines of a text as Python's parser counts them, with their endings."""
    return _LINES.findall(source)


def content_of(line: str) -> tuple[str, str]:
    """A line without its ending, and the ending."""
    body = line.rstrip("\r\n")
    return body, line[len(body) :]


class Scan:
    """Where Python stands within a logical line that can go over several physical ones."""

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.continued = False
        self.code = ""
        self.taken = 0
        self.assigned: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the next physical line goes on with the same logical one."""
        return bool(self.quote) or self.depth > 0 or self.continued

    def take(self, line: str) -> None:
        """Goes through one more physical line, without its ending."""
        at, end = 0, len(line)
        self.taken += 1
        if self.quote:
            at = self._string(line, 0)
        while not self.quote and (found := _TOKENS.search(line, at)) is not None:
            at = found.end()
            if found["comment"]:
                end = found.start()
                break
            if found["quote"]:
                self.quote = found["quote"]
                at = self._string(line, at)
            elif found["assign"]:
                if self.depth == 0 and self.assigned is None:
                    self.assigned = found.start() + 1
            else:
                self.depth = max(0, self.depth + (1 if found["open"] else -1))
        self.code = line[:end]
        self.continued = not self.quote and end == len(line) and line.endswith("\\")

    def _string(self, line: str, at: int) -> int:
        """Goes through a string from an offset in it; the offset behind it, or the line's end where it goes on."""
        found = _STRING_ENDS[self.quote].match(line, at)
        if found is not None:
            self.quote = ""
            return found.end()
        if len(self.quote) == 1 and not line.endswith("\\"):
            self.quote = ""  # a string that is not ended ends with its line, for the parser to tell
        return len(line)
