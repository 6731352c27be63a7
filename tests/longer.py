"""Long tests, which a shorter one stands in for, and what the tests of a run need of what their fixtures work out."""

from __future__ import annotations

from typing import Any

import pytest


def all_but_every(step: int, count: int) -> list[Any]:
    """The places of a table as parameters of a test, all but one in some steps marked long."""
    return [pytest.param(place, marks=[pytest.mark.long] if place % step else []) for place in range(count)]


def chosen(request: pytest.FixtureRequest, parameter: str) -> set[Any]:
    """The values of a parameter with which this run's tests of a file ask for the fixture that is being made."""
    items = [item for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)]
    return {item.callspec.params[parameter] for item in items if request.fixturename in item.fixturenames}
