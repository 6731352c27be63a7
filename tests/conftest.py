"""What every test gets: no configuration, colours or debugging from the environment that the tests run in."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "JAXMIGRATE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
