"""Has the fixes of findings applied to a file, for `lint --fix` and for editors; LibCST is loaded here, not before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from jaxmigrate.commands import Failure
from jaxmigrate.findings.fixes import Fix
from jaxmigrate.lint.linting import place
from jaxmigrate.program.modules import parse_module
from jaxmigrate.sources import SourceFile


def applied(source: SourceFile, fixes: Sequence[Fix]) -> tuple[str, Sequence[Fix], Mapping[Fix, str]]:
    """A file's text after some fixes, those that it has, and those that are left out, with the reason.

    Raises:
        Failure: LibCST is not installed.
    """
    if find_spec("libcst") is None:
        raise Failure("--fix writes with LibCST, which is not installed: pip install libcst")
    from jaxmigrate.migrate.fixes import fixed

    return fixed(parse_module(place(source), source.text, newer=True), fixes, source.notebook)
