"""Values that come to a map by ways that were once not followed, each beside the one that must not be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode
from tests.rules.whole import programs


@pytest.mark.parametrize(("codes", "text"), programs("followed_programs.txt"))
def test_programs(codes: list[str], text: str) -> None:
    """Parts behind `# FILE name.py` are files of their own."""
    first, *others = text.split("# FILE ")
    files = {"a.py": first, **dict(one.split("\n", 1) for one in others)}
    found = lint([decode(t.encode(), name, Path(f"/project/{name}")) for name, t in files.items()], Config())
    assert sorted(one.code for one in found if not one.code.startswith("JM4")) == codes
