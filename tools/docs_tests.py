"""The index of the tests, from what each says of itself: tests/README.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What the folders of tests/ are about; those without tests of their own are run by hand, or by what is named
FOLDERS = {
    "": "The commands as users run them, the packages, the documentation, and the structure of the code",
    "sources": "Files in and out",
    "program": "What the code says",
    "flow/variance": "Which values differ between devices",
    "layouts": "Stacked arrays that become global ones: programs in `programs/` and `provable/` run before and after",
    "rules": "The rules of lint, each in many forms",
    "lint": "How lint gets through many files",
    "migrate": "What becomes of sites and of old names: programs run before and after",
    "codemod": "Operations as text before and after",
    "verify": "Runs, records, comparisons and verdicts",
    "observing": "What a run shows of arrays, for `fix --observe`",
    "reports": "What is written about all of that",
    "fuzz": "Random programs and files; most of it is run by hand, see docs/campaigns.md",
}
HEAD = """# What guards what

Written by `python tools/docs.py tests/README.md` from the first line of each file; that is where to change it.
`make test` runs them in several processes, but for those marked `long`, which `make full` adds;
`.venv/bin/python -m pytest tests/lint/test_cache.py` runs one file.

`tests/campaigns/` and `tests/bench/` are programs that measure, and are run by hand: docs/campaigns.md and
docs/figures.md say how, and what came out. `fixtures/` has whole programs: as written, and as they must come out.
"""


def index() -> str:
    """The page."""
    top = ROOT / "tests"
    found = {path.parent.relative_to(top).as_posix() for path in top.rglob("test_*.py")} - {"layouts/programs"}
    folders = FOLDERS | dict.fromkeys(sorted(found - {"."} - FOLDERS.keys()), "See the files")
    return "\n".join([HEAD, *(line for folder, about in folders.items() for line in _section(folder, about))])


def _section(folder: str, about: str) -> Iterator[str]:
    yield f"## tests/{folder}".rstrip("/")
    yield ""
    yield f"{about}."
    yield ""
    for path in sorted((ROOT / "tests" / folder).glob("test_*.py")):
        yield f"- `{path.name}`: {guarded(path)}"
    yield ""


def guarded(path: Path) -> str:
    """What a file of tests says that it holds."""
    return (ast.get_docstring(ast.parse(path.read_bytes())) or "").partition("\n")[0]
