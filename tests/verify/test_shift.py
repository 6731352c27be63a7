"""Host code that computes something else between equal results: a constant that rounding would hide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jaxmigrate.verify.child.errors import Beside, compare
from jaxmigrate.verify.child.shift import is_shifted

EPS = 2.0**-23


def cancelled(shift: float = 0.0, seed: int | None = None) -> Any:
    """Variances as a host computes them, as the small rest of two large numbers."""
    numbers = np.random.default_rng(0)
    first, second = numbers.normal(size=(5, 3)).astype("f") * 3, numbers.uniform(0.5, 2, (5, 3)).astype("f")
    moved = np.random.default_rng(seed).integers(-1, 2, first.shape) if seed is not None else 0
    first = (first * (1 + moved * EPS)).astype("f")
    return ((second + first.astype("f") ** 2) - first**2 + np.float32(shift)).astype("f")


@pytest.mark.parametrize("of_equal", [True, False])
def test_another_constant_is_no_rounding_where_all_before_is_equal(of_equal: bool) -> None:
    """Behind results that differ in their last places, the same may be what rounding makes of them."""
    variances = np.random.default_rng(0).uniform(0.5, 2, (5, 3)).astype("f")
    moved = variances + np.random.default_rng(1).normal(size=(5, 3)).astype("f") * np.float32(1e-6)
    other = variances + np.float32(9e-6) * (np.arange(5) != 2)[:, None]
    found = compare(variances, other.astype("f"), 1e-5, 0.0, 8, Beside(nudged=moved, of_equal=of_equal))
    assert (found["within"], found["bias"]) == ((False, "shift") if of_equal else (True, ""))


def test_other_roundings_of_equal_results_are_no_constant() -> None:
    for seed in range(2, 20):
        assert not is_shifted(cancelled(), cancelled(seed=seed), cancelled(seed=1), EPS)


def test_numbers_that_are_normalised_together_share_their_rounding() -> None:
    logs = np.log(np.arange(1.0, 17)) - 40
    assert not is_shifted(logs, logs + 12 * EPS * 40, logs + 4 * EPS * 40, EPS)


def test_few_numbers_say_nothing() -> None:
    few = np.ones(4)
    assert not is_shifted(few, few + 1e-3, few, EPS)
