"""What IPython understands and Python does not, masked so that the rest of a cell can be read as Python.

A masked line is a statement that says what is known of it: the values that it is given, or that it may read and bind
anything; or a comment where no statement is needed. It ends in a comment by which the original is found again. Code
behind a magic that runs it (`%time f(x)`) stays code, and so does the body of a cell magic that runs it (`%%time`). A
cell's last expression is shown, which a call of `display` says. No line is added or lost.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from jaxmigrate.records import made, record
from jaxmigrate.sources.notebooks.scanning import Scan, content_of, lines_of

MARK = "#jaxmigrate-mask"
OPAQUE = "get_ipython()"
SHOWN = "display("

# Magics that run the code on their line, with the letters of the options that take a value
_RUN_LINES = {
    "time": "",
    "timeit": "nrp",
    "prun": "lsTD",
    "memit": "rti",
    "mprun": "fT",
    "lprun": "fmTDs",
    "pyinstrument": "",
}
# Magics that run the cell below them in the notebook itself
_RUN_CELLS = (
    *("capture", "debug", "heat", "ipytest", "lprun", "memit", "mprun", "prun", "pyinstrument", "scalene"),
    *("skip_if_ci", "snakeviz", "time", "timed", "timeit", "wandb"),
)
# Magics that neither read nor bind the notebook's variables, but for those that stand in braces or behind a dollar
_ALOOF = frozenset(
    """
    alias aimport automagic autoreload autosave cat cd clear colors conda config connect_info cp debug
    doctest_mode env gui history hist killbgscripts ldir less lk ll load_ext logoff logon logstart ls
    lsmagic lx magic mamba man matplotlib mkdir more mv notebook pastebin pdb pdef pdoc pfile pinfo
    pinfo2 pip popd pprint precision psearch psource pushd pwd pycat qtconsole quickref rehashx
    reload_ext rm rmdir save sc set_env shell sx system tb tensorboard tensorflow_version time timeit
    unalias unload_ext uv watermark who who_ls whos xmode
    %! %HTML %SVG %bash %cmd %file %html %javascript %js %latex %markdown %perl %pypy %python %python2
    %python3 %ruby %script %sh %svg %sx %system %writefile
    """.split()  # noqa: SIM905 - a page of quotes and commas says no more
)
_SHELL_WORDS = re.compile(
    r"(?:pip3?|conda|mamba|uv|cd|ls|cat|cp|mv|rm|rmdir|mkdir|apt|apt-get|git|wget|curl)[ \t]+"
    r"(?!(?:in|is|if|and|or|not|else|for)\b)(?:[A-Za-z_0-9~]|\.\.?(?:/|$))"
)
_RUN_WORDS = re.compile(r"(?:time|timeit|prun|memit|lprun)[ \t]+[-A-Za-z_]")
_INTERPOLATED = re.compile(r"\{([^{}]+)\}|(?<!\$)\$([A-Za-z_]\w*)")
_SIMPLE = re.compile(r"[^#()\[\]{}\"'%!?\\]*")  # a logical line by itself, and no magic
_NO_EXPRESSION = re.compile(
    r"[ \t]|(?:async|class|def|del|for|from|global|if|import|pass|raise|return|try|while|with)\b"
    r"|[A-Za-z_][\w.]*(?:[ \t]*,[ \t]*[A-Za-z_][\w.]*)*[ \t]*[-+*/]?=(?!=)"
)
_RUN_FILE = re.compile(r"%run[ \t]+(?:-\w+[ \t]+)*[\"']?([^\s\"'{}$]+\.(?:py|ipynb))\b")
_CAPTURE = re.compile(r"%%capture\b(?:\s+--?[\w-]+)*\s+([A-Za-z_]\w*)\s*$")


class Entry(NamedTuple):
    """One masked line: all of it; what stands before the code in it; or what stands behind code that is shown."""

    kind: Literal["line", "prefix", "shown"]
    masked: str
    original: str


@record(frozen=False)
class Masked:
    """A cell's source as Python.

    Attributes:
        text: The Python, with as many lines as the source.
        entries: What was masked, by the number in the mark.
        body: How many lines at the top belong to cell magics: nothing can be put before them.
        shifts: By line from 1, how many characters more stand before the code than in the Python.
        opaque: Whether the whole cell is for something else than Python.
        unrun: The lines that a program outside of IPython does not run, with their text.
    """

    text: str = ""
    entries: list[Entry] = made(factory=list)
    body: int = 0
    shifts: dict[int, int] = made(factory=dict)
    opaque: bool = False
    unrun: list[tuple[int, str]] = made(factory=list)


Shows = Literal["last", "all", "none"]


def mask(source: str, shows: Shows = "last") -> Masked:
    """Masks what is not Python in the source of a cell; `shows` are the expressions whose values are shown."""
    return _Masker(lines_of(source), shows).run()


class _Masker:
    """Goes through the lines of one cell."""

    def __init__(self, lines: list[str], shows: Shows) -> None:
        self.lines = lines
        self.shows = shows
        self.found = Masked()
        self.done: list[str] = []
        self.last = 0  # where the last logical line of Python begins

    def run(self) -> Masked:
        self._cell_magics()
        while len(self.done) < len(self.lines):
            if self.found.opaque:
                self._comment()
            else:
                self._logical_line()
        if not self.found.opaque and self.shows != "none":
            self._show()
        self.found.text = "".join(self.done)
        return self.found

    # Whole lines

    def _put(self, statement: str) -> None:
        """Masks the next line by a statement, or by a comment alone."""
        original, ending = content_of(self.lines[len(self.done)])
        mark = f"{MARK} {len(self.found.entries)}"
        masked = f"{statement}  {mark}" if statement else mark
        self.found.entries.append(Entry("line", masked, original))
        self.done.append(masked + ending)

    def _comment(self) -> None:
        self._put("")

    def _unrun(self, line: str) -> None:
        self.found.unrun.append((len(self.done) + 1, line.strip()))

    # Magics of the whole cell

    def _cell_magics(self) -> None:
        """The `%%` lines at the top; what stands below one is a cell of its own, which may begin with another."""
        while True:
            at = len(self.done)
            while at < len(self.lines) and not self.lines[at].strip():
                at += 1
            line = self.lines[at] if at < len(self.lines) else ""
            found = re.match(r"%%(\w[\w.]*)", line)
            if found is None:
                return
            self.done += self.lines[len(self.done) : at]
            self.found.opaque = found[1] not in _RUN_CELLS
            if self.found.opaque:
                self._unrun(line)
            captured = _CAPTURE.match(line.strip())
            if (code := _code_behind(line.strip()[1:])) is not None:
                self._put(code)
            elif captured:
                self._put(f"{captured[1]} = {OPAQUE}")
            else:
                self._put(_opaque(line.strip()) if _says_something(line.strip()) else "")
            self.found.body = len(self.done)
            if self.found.opaque:
                return

    # Lines

    def _logical_line(self) -> None:
        """Masks, or takes as it is, what begins at the next line: at the start of a logical line of Python."""
        line, _ = content_of(self.lines[len(self.done)])
        body = line.lstrip()
        indent = line[: len(line) - len(body)]
        first = len(self.done)
        if body and body[0] != "#":
            self.last = first
        if body[:1] in ("%", "!", "?", "/", ",", ";") or _is_bare_magic(body):
            self._magic(indent, body)
            return
        if _SIMPLE.fullmatch(line):
            self.done.append(self.lines[first])
            return
        scan = Scan()
        scan.take(line)
        if scan.assigned is not None:
            self._assigned(line, scan.assigned)
            return
        if not scan.is_open and scan.code.rstrip().endswith("?"):
            self._put(f"{indent}{OPAQUE}")
            return
        while scan.is_open and first + scan.taken < len(self.lines):
            scan.take(content_of(self.lines[first + scan.taken])[0])
        self.done += self.lines[first : first + scan.taken]

    def _magic(self, indent: str, body: str) -> None:
        code = _code_behind(body if body.startswith("%") else f"%{body}")
        if code is not None and not body.endswith("\\"):
            ending = content_of(self.lines[len(self.done)])[1]
            prefix = body[: len(body) - len(code)]
            mark = f"{MARK} {len(self.found.entries)}"
            self.found.entries.append(Entry("prefix", mark, prefix))
            self.found.shifts[len(self.done) + 1] = len(prefix)
            self.done.append(f"{indent}{code}  {mark}{ending}")
            return
        self._unrun(body)
        self._with_continuations(f"{indent}{_opaque(self._continued())}")

    def _assigned(self, line: str, at: int) -> None:
        """`files = !ls` and `best = %timeit -o f(x)`: a value that nobody knows."""
        target, rest = line[:at], line[at:].lstrip()
        self._unrun(line)
        code = _code_behind(rest) if rest.startswith("%") else None
        value = (
            f"get_ipython({code})" if code is not None and _parses(code, "eval") else _opaque(self._continued()[at:])
        )
        self._with_continuations(f"{target} {value}")

    def _show(self) -> None:
        """Calls `display` with the expression that a cell ends in, or with all of a doctest."""
        last = "".join(self.done[self.last :])
        if self.shows == "last" and ";" not in last and _NO_EXPRESSION.match(last):
            return  # without a look at all of the cell
        try:
            statements = ast.parse("".join(self.done)).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for statement in statements[-1:] if self.shows == "last" else statements:
            if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
                self._show_one(statement)

    def _show_one(self, shown: ast.Expr) -> None:
        """Calls `display` with an expression, unless a semicolon keeps it from being shown."""
        if shown.col_offset:
            return
        first, end = shown.lineno - 1, (shown.end_lineno or shown.lineno) - 1
        content, ending = content_of(self.done[end])
        column = len(content.encode()[: shown.end_col_offset].decode(errors="replace"))
        behind = content[column:]
        if behind.lstrip().startswith(";") or MARK in behind:
            return
        mark = f"{MARK} {len(self.found.entries)}"
        self.found.entries.append(Entry("shown", mark, behind))
        self.done[end] = f"{content[:column]}){behind}  {mark}{ending}"
        self.done[first] = SHOWN + self.done[first]
        self.found.shifts[first + 1] = -len(SHOWN)

    def _continued(self) -> str:
        """The next line and those that backslashes join to it."""
        joined = ""
        for line in self.lines[len(self.done) :]:
            joined += line
            if not content_of(line)[0].endswith("\\"):
                break
        return joined

    def _with_continuations(self, statement: str) -> None:
        more = len(lines_of(self._continued())) - 1
        self._put(statement)
        for _ in range(more):
            self._comment()


def _opaque(text: str) -> str:
    """A call that nobody knows, of the values that IPython puts into a magic or shell line.

    A magic that is not known may do anything to any variable. The file that `%run` runs is given by its path.
    """
    names = [one or other for one, other in _INTERPOLATED.findall(text)]
    run = _RUN_FILE.match(text.lstrip())
    given = dict.fromkeys([repr(run[1])] if run is not None else [])
    given |= dict.fromkeys(name for name in names if _parses(name, "eval"))
    if not _is_aloof(text.lstrip()):
        given["globals()"] = None
    return f"get_ipython({', '.join(given)})"


def _is_aloof(text: str) -> bool:
    found = re.match(r"%(%?[\w!]+)", text)
    return found is None or found[1] in _ALOOF or found[1].removeprefix("%") in _RUN_CELLS


def _says_something(line: str) -> bool:
    """Whether a cell magic has to be masked by a statement: it is given values, or nobody knows what it does."""
    return _opaque(line) != OPAQUE


def _is_bare_magic(body: str) -> bool:
    """Whether a line is a magic or a shell command without its sign, which IPython allows where it is no Python."""
    return bool(_SHELL_WORDS.match(body) or (_RUN_WORDS.match(body) and not _parses(body, "exec")))


def _code_behind(body: str) -> str | None:
    """The code that a line magic runs, None where it is no such magic or has no code of a single line."""
    found = re.match(r"%(\w+)(?=\s)", body)
    if found is None or found[1] not in _RUN_LINES:
        return None
    with_values = _RUN_LINES[found[1]]
    option = rf"\s+-(?:[{with_values}]\s*[^\s-]\S*|[a-zA-Z]+)" if with_values else r"\s+-[a-zA-Z]+"
    behind = re.match(rf"%\w+(?:{option})*\s+(?=[^\s-])", body)
    code = body[behind.end() :] if behind is not None else ""
    return code if code.strip() and not code.startswith("#") and _parses(code, "exec") else None


def _parses(code: str, mode: Literal["exec", "eval"]) -> bool:
    try:
        ast.parse(code, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def marks_in(line: str) -> Iterator[tuple[int, int]]:
    """The offset of the mark that ends a line, and its number."""
    found = re.search(rf" *{re.escape(MARK)} (\d+)$", line)
    if found is not None:
        yield found.start(), int(found[1])
