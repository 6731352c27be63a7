"""What verify's own tests share: programs are compiled without what XLA does for speed, before and after alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flags import UNOPTIMISED


@pytest.fixture(scope="module", autouse=True)
def _unoptimised() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", " ".join(UNOPTIMISED))
        yield
