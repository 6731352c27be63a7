"""The gallery: every right migration is accepted, every wrong one refuted, and at the site that is to blame."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.verify.galleries import GALLERY, fault, judged, programs, text_of
from tests.verify.gallery_cases import CASES

FIRST = {(case.program, case.right): case for case in reversed(CASES) if case.quick}
QUICK = [case for case in CASES if case in FIRST.values()]  # `python tests/campaigns/gallery.py` runs all
Faults = dict[str, str]


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[Faults]]:
    """What is wrong with the verdicts on each program's migrations; two programs are verified at a time."""
    root = tmp_path_factory.mktemp("gallery").resolve()
    befores = programs(root, QUICK)

    def of_program(program: str) -> Faults:
        cases = [case for case in QUICK if case.program == program]
        return {case.name: fault(case, evidence) for case, evidence in judged(root, cases, befores)}

    pool = ThreadPoolExecutor(2)
    return {program: pool.submit(of_program, program) for program in dict.fromkeys(case.program for case in QUICK)}


@pytest.mark.slow
@pytest.mark.parametrize("name", [case.name for case in QUICK])
def test_verdicts(faults: dict[str, Future[Faults]], name: str) -> None:
    assert faults[name.partition("/")[0]].result()[name] == ""


def test_every_case_has_a_migration_and_every_migration_a_case() -> None:
    texts = {case.name: text_of(case) for case in CASES}
    assert len(texts) == len(CASES)
    assert len(set(texts.values())) == len(CASES)
    written = {f"{path.parent.name}/{path.stem}" for path in GALLERY.glob("*/*.py") if path.stem != "before"}
    assert {case.name for case in CASES if case.right} == written
    assert {path.parent.name for path in GALLERY.glob("*/before.py")} == {case.program for case in CASES}
