"""Specs, axes and static positions that fit the arguments no more, and what is right beside them.

Each program of `position_programs.txt` ran on 8 devices.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode
from tests.rules.whole import programs


@pytest.mark.parametrize(("told", "program"), programs("position_programs.txt"))
def test_what_is_told_of_positions(told: list[str], program: str) -> None:
    found = lint([decode(program.encode(), "a.py", Path("/project/a.py"))], Config())
    assert sorted({one.code for one in found}) == told
