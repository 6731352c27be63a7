"""Writes everything in README.md and docs/ that a program can write: `python tools/docs.py [--check] [PAGE...]`.

The reference pages come from the parser and the tables in the code, the README's `After` from `fix`, the outputs of
commands from running them, the pictures from `docs_pictures`. With `--check` nothing is written, and the exit status is
1 where a page differs in more than a time or a version.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docs_commands
import docs_pictures
import docs_reference
import docs_tests

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RUN = ("README.md", "docs/tutorial.md", "docs/observe.md", "docs/ci.md")  # pages with commands
STEP = re.compile(
    r"(?<=\*\*Before\*\*\n\n```python\n)(?P<before>.*?)```(?P<between>.*?```python\n)(?P<after>.*?)(?=```)", re.DOTALL
)


def with_step(text: str) -> str:
    """The README with what `fix` makes of the step in it.

    Raises:
        ValueError: It has no such step.
    """
    found = STEP.search(text)
    if found is None:
        raise ValueError("README.md has no **Before** with a step, and a block after it")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "train.py")
        file.write_text(found["before"], encoding="utf-8")
        subprocess.run([sys.executable, "-m", "jaxmigrate", "fix", "-q", "train.py"], cwd=folder, check=True)
        after = file.read_text(encoding="utf-8")
    return text[: found.start("after")] + after + text[found.end("after") :]


def page(name: str) -> str:
    """A page with commands as it is now to be."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = with_step(text) if name == "README.md" else text
    with tempfile.TemporaryDirectory() as folder:
        return docs_commands.rerun(text, docs_commands.home(Path(folder)))


def written() -> dict[str, str]:
    """What is written without running anything, by its path in the repository."""
    pages = {f"docs/{name}": text for name, text in docs_reference.pages().items()}
    pages["tests/README.md"] = docs_tests.index()
    return pages | {f"docs/pictures/{name}": text for name, text in docs_pictures.pictures().items()}


def main(arguments: list[str]) -> int:
    """Writes or checks the pages that are named, or all."""
    chosen = [one for one in arguments if one != "--check"]
    made = written()
    names = chosen or [*made, *RUN]
    status = 0
    for name in names:
        text = made[name] if name in made else page(name)
        if "--check" not in arguments:
            (ROOT / name).write_text(text, encoding="utf-8")
            continue
        old = docs_commands.steady((ROOT / name).read_text(encoding="utf-8")).splitlines()
        new = docs_commands.steady(text).splitlines()
        print("\n".join(difflib.unified_diff(old, new, name, "as made", lineterm="")), end="")
        status |= old != new
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
