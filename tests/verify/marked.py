"""Marks the programs of these tests the way `fix` marks real ones, and verifies them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxmigrate.verify.model import Evidence, Progress, SiteEvidence, SiteInfo, VerifyRequest
from jaxmigrate.verify.run import verify

PROGRAMS = Path(__file__).parent / "programs"
_PMAP = re.compile(r"(?:(\w+(?:\.\w+)*) = |@functools.partial\()?(jax\.pmap)")


def site_of(text: str, name: str) -> SiteInfo:
    return next(site for site in sites_of(text) if site.name == name)


def sites_of(text: str, path: str = "program.py") -> tuple[SiteInfo, ...]:
    """The pmaps of a program, named after what they are assigned to or decorate."""
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines):
        for match in _PMAP.finditer(line):
            decorated = re.match(r"\s*def (\w+)", lines[number + 1]) if line.lstrip().startswith("@") else None
            name = decorated[1] if decorated else (match[1] or "").removeprefix("self.")
            column = match.start(2) + 1
            found.append(SiteInfo(f"{path}:{number + 1}:{column}", path, number + 1, column, "i", name))
    return tuple(found)


def marked(text: str, transform: str) -> str:
    """The program with every pmap replaced by a mark around `transform`."""
    lines = text.splitlines(keepends=True)
    for site in reversed(sites_of(text)):
        line = lines[site.line - 1]
        start = site.column - 1
        mark = f'__jaxmigrate_transform__("{site.id}", {transform})'
        lines[site.line - 1] = line[:start] + mark + line[start + len("jax.pmap") :]
    return "".join(lines)


def verify_program(
    root: Path,
    text: str,
    broken: Sequence[tuple[str, str]] = (),
    progress: list[Progress] | None = None,
    **options: Any,
) -> Evidence:
    """Verify a program against its stacked rewrite, into which `broken` texts were put for right ones."""
    root.mkdir(exist_ok=True)
    (root / "program.py").write_text(text)
    (root / "stacked.py").write_text((PROGRAMS / "stacked.py").read_text())
    rewritten = marked(text, "__import__('stacked').stacked_map")
    for right, wrong in broken:
        assert rewritten.count(right) == 1, right
        rewritten = rewritten.replace(right, wrong)
    request = VerifyRequest(
        root=root,
        command=options.pop("command", (sys.executable, "program.py")),
        original={"program.py": marked(text, "jax.pmap").encode()},
        migrated={"program.py": rewritten.encode()},
        sites=sites_of(text),
        **options,
    )
    return verify(request, progress.append if progress is not None else lambda _: None)


def by_name(evidence: Evidence) -> dict[str, SiteEvidence]:
    return {site.site.name: site for site in evidence.sites}
