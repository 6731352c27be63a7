"""JM506 and JM117 as the host's code runs: by other names, in other functions, each beside what is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode
from tests.rules.whole import programs


@pytest.mark.parametrize(("codes", "text"), [*programs("donated_programs.txt"), *programs("device_axis_parts.txt")])
def test_programs(codes: list[str], text: str) -> None:
    """What is told of each program is its fault, and nothing else."""
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    assert sorted({one.code for one in found if not one.code.startswith("JM4")}) == codes
