"""Positions, restored states, donated states, specs and shardings that do not fit, in forms that reach over functions.

Each program of `placed_programs.txt` ran on 8 devices: those that are told raise, or go on with the wrong arrays.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode
from tests.rules.whole import programs


@pytest.mark.parametrize(("told", "program"), programs("placed_programs.txt"))
def test_what_does_not_fit_is_told(told: list[str], program: str) -> None:
    found = lint([decode(program.encode(), "a.py", Path("/project/a.py"))], Config())
    assert sorted({one.code for one in found}) == told
