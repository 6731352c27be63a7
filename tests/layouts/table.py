"""The programs of the soundness suite: files in `programs` and `provable`, and those of the tables beside this one.

In a comment at the end of a line, `careless:` gives the line that a migration in a hurry would have written.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.layouts.carriers import CARRIERS, carried
from tests.layouts.choosers import chosen
from tests.layouts.evaluators import CHANGES, evaluated
from tests.layouts.running import Files

HERE = Path(__file__).parent
CARELESS = re.compile(r"^(?P<indent>[ ]*)(?P<line>\S.*?)[ ]+# careless: (?P<instead>.+)$", re.MULTILINE)
EXPECT = re.compile(r"# expect: (?P<arguments>[a-z, ]+?)(?: -> (?P<outputs>[a-z, ]+))?$")


def traps() -> dict[str, Files]:
    """Programs in which a careless move to global arrays changes numbers."""
    made = {f"carried_by_{name}": carried(name) for name in CARRIERS}
    made |= {f"evaluator_{name}": evaluated(name) for name in CHANGES}
    made |= chosen()
    return {**_folder("programs"), **{name: {"main.py": text} for name, text in made.items()}}


def provable() -> dict[str, Files]:
    """Programs in which each argument's layout can be told."""
    return _folder("provable")


def careless(files: Files) -> Files | None:
    """The hand-made wrong migration of a program; None where it has none."""
    if not any(CARELESS.search(text) for text in files.values()):
        return None
    return {name: CARELESS.sub(r"\g<indent>\g<instead>", text) for name, text in files.items()}


def expected(files: Files) -> dict[tuple[str, int], tuple[list[str], list[str] | None]]:
    """By file and line of each mapped site, the layouts of its arguments and, where they are given, of its outputs."""
    found: dict[tuple[str, int], tuple[list[str], list[str] | None]] = {}
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if match := EXPECT.search(line):
                outputs = match["outputs"]
                found[name, number] = (_words(match["arguments"]), None if outputs is None else _words(outputs))
    return found


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _folder(name: str) -> dict[str, Files]:
    single = {p.stem: {"main.py": p.read_text("utf-8")} for p in sorted((HERE / name).glob("*.py"))}
    folders = {
        main.parent.name: {p.relative_to(main.parent).as_posix(): p.read_text("utf-8") for p in _texts(main.parent)}
        for main in sorted((HERE / name).glob("*/main.py"))
    }
    return {**single, **folders}


def _texts(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))
