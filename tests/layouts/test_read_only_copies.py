"""Which evaluators are lent stacked arrays of a trainer whose state is replicated otherwise: those that only read."""

from __future__ import annotations

import re

import pytest

from tests.layouts.evaluators import CHANGES, evaluated
from tests.layouts.running import plan

LENT = {"shared", "of_two_readers", "with_a_later_reader", "by_variables"}


@pytest.mark.parametrize("name", CHANGES)
def test_only_readers_are_lent_to(name: str) -> None:
    found = plan({"main.py": evaluated(name)})
    lends = re.search(r"evaluator\.run_all\(\s*stack\(state\)", found.files[0].after) is not None
    replicated = any(array.layout == "replicated" for site in found.sites for array in site.arguments)
    assert lends is replicated is (name in LENT)
