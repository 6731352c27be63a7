"""What every test gets: no configuration, colours or debugging from the environment that the tests run in."""

from __future__ import annotations

import gc
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

import jaxmigrate


def pytest_configure() -> None:
    """Rules lie beside the package in an unpacked archive, where an install that is not editable does not see them.

    Shells start what is in the background with interrupts ignored, which processes would inherit.
    """
    if find_spec("jaxmigrate.rules") is None:
        jaxmigrate.__path__.append(str(Path(__file__).parents[1] / "typings" / "jaxmigrate"))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests that a shorter one stands in for")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out long tests, unless all are asked for, or single ones by their names."""
    if config.getoption("--long") or any("::" in argument for argument in config.args):
        return
    left = [item for item in items if item.get_closest_marker("long") is not None]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.get_closest_marker("long") is None]


def pytest_collection_finish() -> None:
    """Thousands of tests and what they import stay to the end: they are not searched for garbage again and again."""
    gc.freeze()
    gc.set_threshold(50_000)  # as the command line does


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "JAXMIGRATE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
