"""What verify's own tests share: programs are compiled without what XLA does for speed, before and after alike.

They also share what XLA compiles, as the runs of one verification do: many migrations have the same original.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxmigrate.verify import workshop
from tests.flags import UNOPTIMISED


@pytest.fixture(scope="module", autouse=True)
def _unoptimised() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", " ".join(UNOPTIMISED))
        yield


@pytest.fixture(scope="module", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    """One folder for all verifications of a test session; undo it where a verification must find nothing."""
    shared = tmp_path_factory.getbasetemp() / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workshop, "compiled_in", lambda _folder: shared)
        yield patch
