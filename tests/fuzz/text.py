"""Feeds fix and lint with source files as nobody would write them, and looks for a crash or a lost byte.

    python tests/fuzz/text.py [--seed 0] [--seconds 300] [--count N] [--log FILE] [--keep FOLDER]

Of each file: `fix` and `lint` end with a status that they promise and no internal error; what Python cannot parse stays
byte for byte and is reported; what it can parse still can be parsed; every line that holds nothing of a site, an import
or a helper stays where it was, with its ending; the encoding and the byte order mark stay; a second `fix` changes
nothing. Prints totals; 1 where one of these failed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import io
import json
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate import cli
from jaxmigrate.migrate import PlanOptions, plan_sources
from jaxmigrate.sources import SourceError, decode
from tests.fuzz.mutating import mutated, seeds

BOM = b"\xef\xbb\xbf"
STATUS = {0, 1, 2}
Change = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit status and all that it said."""

    status: int
    said: str


def command(*arguments: str) -> Outcome:
    """Runs the command line in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status = cli.main(list(arguments))
    said = b"".join(stream.buffer.getvalue() for stream in (out, err))
    return Outcome(status, said.decode("utf-8", "replace"))


def parsed(raw: bytes) -> bool:
    """Whether Python's own parser takes the bytes of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(raw)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def faults(raw: bytes, layout: str, folder: Path) -> tuple[list[str], str]:
    """What is wrong with what becomes of a file's bytes, and what did: `changed`, `same` or `unparsable`."""
    path = folder / "a.py"
    path.write_bytes(raw)
    fixed = command("fix", str(path), "--layout", layout)
    after = path.read_bytes()
    found = [f"fix: {fault}" for fault in ended_badly(fixed)]
    kind = "changed" if after != raw else "same"
    if not parsed(raw):
        kind = "unparsable"
        found += ["changed what does not parse"] if after != raw else []
        found += ["does not report what does not parse"] if fixed.status != 2 and _is_read(raw) else []
    elif after != raw:
        found += compared(raw, after, layout)
        again = command("fix", str(path), "--layout", layout)
        found += [f"again: {fault}" for fault in ended_badly(again)]
        found += ["a second run changes it"] if path.read_bytes() != after else []
    found += [f"lint: {fault}" for fault in ended_badly(command("lint", str(path), "--no-cache"))]
    found += [f"leaves {entry.name}" for entry in folder.iterdir() if entry.name != "a.py"]
    return found, kind


def _is_read(raw: bytes) -> bool:
    """Whether fix has a reason to look into a file at all: it names pmap, and decodes."""
    try:
        return "pmap" in decode(raw, "a.py").text
    except SourceError:
        return True


def ended_badly(outcome: Outcome) -> list[str]:
    """What is wrong with how a command ended."""
    if outcome.status not in STATUS or "internal error" in outcome.said or "Traceback" in outcome.said:
        return [f"status {outcome.status}: {outcome.said[-600:]}"]
    return []


def compared(before: bytes, after: bytes, layout: str) -> list[str]:
    """What a rewrite lost or broke."""
    if not parsed(after):
        return ["does not parse any more"]
    found = ["lost the byte order mark"] if before.startswith(BOM) != after.startswith(BOM) else []
    try:
        one, other = decode(before, "a.py"), decode(after, "a.py")
    except SourceError as error:
        return [*found, f"cannot be decoded any more: {error}"]
    if one.encoding != other.encoding:
        found.append(f"{one.encoding} became {other.encoding}")
    if one.newline not in ("mixed", "") and other.newline not in (one.newline, ""):
        found.append(f"line endings {one.newline!r} became {other.newline!r}")
    lost = lost_lines(one.text, other.text, layout, mixed=one.newline == "mixed")
    return [*found, *(f"lost the line {line!r}" for line in lost[:3])]


def lost_lines(before: str, after: str, layout: str, mixed: bool) -> list[str]:
    """Lines that are gone and held nothing that fix may touch.

    Where endings are `mixed`, a line feed that is put behind a carriage return makes one ending of two, so that endings
    are not compared.
    """
    plan, _ = plan_sources([("a.py", Path("/project/a.py"), before)], PlanOptions(layout))
    replaced = {name.line for file in plan.files for name in file.names}
    touched = _touched(before, replaced | {site.line for site in plan.sites})
    lines, others = before.splitlines(keepends=True), after.splitlines(keepends=True)
    put_back = _put_back(before, after)
    gone: list[str] = []
    for tag, start, end, _, _ in difflib.SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
        if tag in ("replace", "delete"):
            left = [i for i in range(start, end) if not (i + 1 in put_back and _keeps_its_comment(lines[i], after))]
            gone += [lines[i] for i in left if not _may_go(lines[i], i + 1, touched, layout)]
    kept = {line.rstrip("\r\n") if mixed else line for line in others}
    return [line for line in gone if (line.rstrip("\r\n") if mixed else line) not in kept]


def _keeps_its_comment(line: str, after: str) -> bool:
    """Whether what stands behind a line's code is still there."""
    return "#" not in line or f"#{line.partition('#')[2]}".strip() in after


def _put_back(before: str, after: str) -> set[int]:
    """The lines of what functions return that they still return, with the mapped axis put back into it."""
    left = Counter((name, _bare(value)) for name, value in _returned(after) if _bare(value) != ast.unparse(value))
    lines: set[int] = set()
    for name, value in _returned(before):
        if left[name, ast.unparse(value)]:
            left[name, ast.unparse(value)] -= 1
            lines |= set(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    return lines


def _returned(text: str) -> Iterator[tuple[str, ast.expr]]:
    """What each function itself returns, by the name that it had before a map was written around it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        waiting: list[tuple[str, ast.AST]] = [("", ast.parse(text))]
    while waiting:
        name, node = waiting.pop(0)
        if isinstance(node, ast.Return) and node.value is not None:
            yield name, node.value
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name.strip("_").removesuffix("_per_device")
        waiting += [(name, child) for child in ast.iter_child_nodes(node)]


def _bare(value: ast.expr) -> str:
    """The source of a value without `[None]` or `expand_dims` around it, or around the parts of a tuple."""
    match value:
        case ast.Tuple(elts=[element]):
            return f"({_bare(element)},)"
        case ast.Tuple(elts=elements):
            return f"({', '.join(map(_bare, elements))})"
        case ast.Subscript(value=inner, slice=ast.Constant(value=None)):
            return ast.unparse(inner)
        case ast.Call(args=[ast.Lambda(body=ast.Call(func=ast.Attribute(attr="expand_dims"))), inner], keywords=[]):
            return ast.unparse(inner)
    return ast.unparse(value)


def _touched(text: str, sites: set[int]) -> set[int]:
    """The lines of all statements, without their bodies, that a site stands in."""
    lines = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr) and node.lineno in sites:
            last = node.end_lineno or node.lineno
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                last = body[0].lineno
            lines |= set(range(node.lineno, last + 1))
    return lines


def _may_go(line: str, number: int, touched: set[int], layout: str) -> bool:
    """Whether a line is about a site, an import, or, under auto, what may become of arrays."""
    if number in touched or "import" in line or not line.strip() or "pmap" in line:
        return True
    return layout == "auto" and not line.lstrip().startswith("#")


def campaign(options: argparse.Namespace, done: int) -> Counter[str]:
    """Runs files until the time or the count is used up."""
    texts, counts = seeds(), Counter[str]()
    until = time.monotonic() + options.seconds
    for number in range(done, options.count):
        if time.monotonic() > until:
            break
        raw = mutated(f"{options.seed}:{number}", texts)
        layout = random.Random(number).choice(("stacked", "auto"))
        with tempfile.TemporaryDirectory() as folder:
            found, kind = faults(raw, layout, Path(folder))
        counts[kind] += 1
        counts["faulty"] += bool(found)
        counts["files"] += 1
        if options.log is not None:
            with options.log.open("a", encoding="utf-8") as log:
                print(json.dumps({"number": number, "kind": kind, "layout": layout, "faults": found}), file=log)
        if found:
            print(f"{number} ({layout}, {len(raw)} bytes): {found}", file=sys.stderr, flush=True)
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{number}.py").write_bytes(raw)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the campaign."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    entries = []
    if options.log is not None and options.log.exists():
        entries = [json.loads(line) for line in options.log.read_text(encoding="utf-8").splitlines()]
    counts = campaign(options, len(entries))
    counts.update(entry["kind"] for entry in entries)
    counts.update("faulty" for entry in entries if entry["faults"])
    counts["files"] += len(entries)
    print(
        f"seed {options.seed}: "
        + ", ".join(f"{counts[key]} {key}" for key in ("files", "changed", "same", "unparsable"))
    )
    print(f"{counts['faulty']} with a fault")
    return 1 if counts["faulty"] else 0


if __name__ == "__main__":
    sys.exit(main())
