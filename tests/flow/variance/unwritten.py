"""Plans without their texts, for tests of layouts alone: writing a program takes longer than judging its arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def unwritten(when: bool = True) -> Iterator[None]:
    """Leaves every text as it is while a plan is made."""
    if not when:
        yield
        return
    with mock.patch("jaxmigrate.codemod.apply.rewritten", lambda text, *_, **__: text):
        yield
