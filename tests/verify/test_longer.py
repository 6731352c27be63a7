"""Results that have more rows on one side, as a last batch that is padded to a full one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jaxmigrate.verify.case import Case
from jaxmigrate.verify.child.errors import compare_files
from jaxmigrate.verify.compare import compare
from jaxmigrate.verify.comparison import ROWS, Delta
from jaxmigrate.verify.judge import judge
from jaxmigrate.verify.layouts import Layout, rows_of_rewritten
from jaxmigrate.verify.longer import with_longer
from jaxmigrate.verify.model import LeafError, SiteEvidence, SiteInfo, Verdict
from tests.verify.logs import Log, recording


def result(*shape: int) -> list[list[object]]:
    return [["", "array", "float32", [*shape], False]]


def compared(tmp_path: Path, *shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Delta]:
    """The differences of the calls of one site with results of these shapes on both sides."""
    for side in (0, 1):
        log = Log(tmp_path / str(side))
        for both in shapes:
            log.call("a", got=f"{side}", leaves=result(*both[side]))
    found = compare(recording(tmp_path / "0"), recording(tmp_path / "1"), lenient=True)["a"]
    return [delta for pair in with_longer(found.pairs) for delta in pair.deltas]


def test_more_rows_in_one_call(tmp_path: Path) -> None:
    told = compared(tmp_path, ((8, 4, 3), (32, 3)), ((8, 3, 3), (32, 3)))[-1]
    assert (told.kind, told.layout, told.detail) == (ROWS, Layout.PADDED, "24 rows in the original, 32 rewritten")


def test_a_result_that_never_has_the_same_shape_is_another_one(tmp_path: Path) -> None:
    assert [told.kind for told in compared(tmp_path, ((8, 3, 3), (32, 3)), ((8, 3, 3), (32, 3)))] == ["shape"] * 2


def test_other_rows_are_another_shape(tmp_path: Path) -> None:
    assert compared(tmp_path, ((8, 4, 3), (32, 3)), ((8, 3, 3), (32, 5)))[-1].kind == "shape"
    assert rows_of_rewritten((8, 3, 3), (8, 4, 3)) == 32
    assert rows_of_rewritten((8, 3), (4, 4)) is None
    assert rows_of_rewritten((8,), (4,)) is None


@pytest.mark.parametrize(("changed", "within"), [(24, True), (23, False)])
def test_the_rows_of_both_are_compared(tmp_path: Path, changed: int, within: bool) -> None:
    rows = np.random.RandomState(0).randn(32, 3).astype(np.float32)
    rows[:24].tofile(tmp_path / "original")
    rows[changed] += 1
    rows.tofile(tmp_path / "rewritten")
    pair = {
        "original": (str(tmp_path / "original"), 0, 24 * 12),
        "rewritten": (str(tmp_path / "rewritten"), 0, 32 * 12),
        "original_dtype": "float32",
        "rewritten_dtype": "float32",
        "shape": [8, 3, 3],
        "rewritten_shape": [32, 3],
        "layout": Layout.PADDED.value,
        "rtol": 1e-5,
        "atol": 0.0,
    }
    assert compare_files(pair, 8)["within"] is within


@pytest.mark.parametrize("printed", [True, False])
def test_what_is_printed_tells_whether_the_rows_behind_are_read(tmp_path: Path, printed: bool) -> None:
    for side in (0, 1):
        log = Log(tmp_path / str(side))
        log.call("a", got="same", leaves=result(*((8, 4, 3), (32, 3))[side]))
        log.call("a", got="same", leaves=result(*((8, 3, 3), (32, 3))[side]))
    found = compare(recording(tmp_path / "0"), recording(tmp_path / "1"), lenient=True)
    found["a"].pairs = with_longer(found["a"].pairs)
    pair = found["a"].pairs[1]
    errors = {(pair.key, "output", 0): LeafError(0.0, 0.0, 0.0, within=True)}
    told: SiteEvidence = judge(Case(found, {"a": SiteInfo("a")}, 8, errors=errors, outputs_agree=printed))[0]
    assert told.verdict is (Verdict.WITHIN if printed else Verdict.DIFFERENT)
    assert "24 rows in the original, 32 rewritten" in told.message
