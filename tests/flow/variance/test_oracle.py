"""The engine against what happens: generated bodies run on 8 devices, and JAX's own check of what varies."""

from __future__ import annotations

from pathlib import Path

import pytest

from .oracle import compare


@pytest.mark.slow
def test_levels_of_generated_bodies(tmp_path: Path) -> None:
    """No value is called equal that differs; see tests/campaigns/variance.py for the figures on thousands of them."""
    verdicts = compare(range(120), tmp_path)
    assert verdicts.outputs == 360
    assert verdicts.unsound == []
    assert len(verdicts.equal_after_all) <= verdicts.outputs // 100, verdicts.equal_after_all
    proven = verdicts.levels["NO, equal"]
    unproven = verdicts.levels["MAY, equal"] + verdicts.levels["YES, equal"]
    assert proven > 10 * unproven, verdicts
    # Where JAX can prove that a value does not vary, the engine nearly always can.
    agreed = verdicts.against_check["NO, check_vma: invariant"]
    assert agreed > 12 * len(verdicts.missed), verdicts.missed


@pytest.mark.slow
def test_what_libraries_make_of_functions_that_they_are_given(tmp_path: Path) -> None:
    """A function that sees what differs makes a difference, whoever runs it."""
    verdicts = compare(range(1_000, 1_030), tmp_path, handed=True)
    assert verdicts.unsound == []
    assert verdicts.levels["NO, equal"] > 15
