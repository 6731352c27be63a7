"""The gallery: every right migration is accepted, every wrong one refuted, and at the site that is to blame."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tests.longer import chosen
from tests.verify.galleries import GALLERY, fault, judged, programs, text_of
from tests.verify.gallery_cases import CASES

FIRST = {(case.program, case.right): case for case in reversed(CASES) if case.quick}
QUICK = [case for case in CASES if case in FIRST.values()]  # `python tests/campaigns/gallery.py` runs all
LONG = frozenset({"accumulation", "gan", "pinn", "predictions", "scales", "waves"})  # the dearest programs
Faults = dict[str, str]


def cases() -> list[Any]:
    """The parameters of a test for each of the quick migrations, those of the dearest programs marked."""
    marks = {program: [pytest.mark.long] for program in LONG}
    return [pytest.param(case.name, marks=marks.get(case.program, [])) for case in QUICK]


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Future[Faults]]:
    """What is wrong with the verdicts on each program's migrations; two programs are verified at a time."""
    root = tmp_path_factory.mktemp("gallery").resolve()
    asked = chosen(request, "name")
    quick = [case for case in QUICK if case.name in asked]
    befores = programs(root, quick)

    def of_program(program: str) -> Faults:
        cases = [case for case in quick if case.program == program]
        return {case.name: fault(case, evidence) for case, evidence in judged(root, cases, befores)}

    pool = ThreadPoolExecutor(2)
    return {program: pool.submit(of_program, program) for program in dict.fromkeys(case.program for case in quick)}


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_verdicts(faults: dict[str, Future[Faults]], name: str) -> None:
    assert faults[name.partition("/")[0]].result()[name] == ""


def test_every_case_has_a_migration_and_every_migration_a_case() -> None:
    texts = {case.name: text_of(case) for case in CASES}
    assert len(texts) == len(CASES)
    assert len(set(texts.values())) == len(CASES)
    written = {f"{path.parent.name}/{path.stem}" for path in GALLERY.glob("*/*.py") if path.stem != "before"}
    assert {case.name for case in CASES if case.right} == written
    assert {path.parent.name for path in GALLERY.glob("*/before.py")} == {case.program for case in CASES}
