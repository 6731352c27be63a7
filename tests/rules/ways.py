"""Programs that lead to something in one of many ways, each a line of a file, and what lint finds in them."""

from __future__ import annotations

from pathlib import Path

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode


def ways(name: str) -> list[str]:
    """The lines of a file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8").splitlines()


def codes(program: str, way: str, *groups: str) -> set[str]:
    """The rules of some groups that find something in a program with a way put into it.

    What stands before ` ### ` is its `before`, the rest its `inside`; `\\n` is a line's end.
    """
    before, _, inside = way.replace("\\n", "\n").partition(" ### ")
    text = program.format(before=before, inside=inside)
    compile(text, way, "exec")
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return {finding.code for finding in found if finding.code.startswith(groups)}
