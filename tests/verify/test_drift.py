"""What hides in the last place of one call adds up over many; rounding does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jaxmigrate.verify.child.drift import drifts, trend
from jaxmigrate.verify.child.errors import _judge_over_calls

EPS = 2.0**-23
SCALES = np.linspace(0.9, 0.99, 16)


def of_calls(count: int, pull: float, noise: float = 0.4, moved: float = 0.4, seed: int = 0) -> list[Any]:
    """Calls whose steps differ by rounding, of which each argument pulls a part of itself besides; in last places."""
    random = np.random.RandomState(seed)
    return [
        trend(
            apart=EPS * (noise * random.randn(16) - pull * SCALES),
            moved=EPS * moved * random.randn(16),
            along=SCALES,
            sizes=SCALES,
            eps=EPS,
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_what_pulls_the_same_way_in_every_call(seed: int) -> None:
    assert drifts(of_calls(16, pull=1.0, seed=seed))
    assert not drifts(of_calls(1, pull=1.0, seed=seed))
    assert not drifts(of_calls(8, pull=0.0, seed=seed))
    # A program that moves as far by itself hides it.
    assert not drifts(of_calls(8, pull=1.0, moved=20.0, seed=seed))


@pytest.mark.parametrize("seed", range(20))
def test_a_constant_that_is_rounded_otherwise(seed: int) -> None:
    assert not drifts(of_calls(500, pull=0.2, seed=seed))


def test_too_few_numbers() -> None:
    few = np.ones(4)
    assert trend(apart=few, moved=few, along=few, sizes=few, eps=EPS) is None


def test_groups_of_a_large_array() -> None:
    many = np.ones(10_001)
    found = trend(apart=many, moved=many, along=many, sizes=many, eps=EPS)
    assert found is not None
    assert found.moved.size <= 4096
    assert found.moved.sum() == 10_001


def test_only_what_is_near_enough_in_each_call_is_judged_over_the_calls() -> None:
    def found(within: bool) -> list[dict[str, Any]]:
        calls = of_calls(8, pull=1.0)
        return [{"trend": call, "within": within or not number, "bias": ""} for number, call in enumerate(calls)]

    pairs = [{"series": "a"}] * 8
    drifting, other = found(within=True), found(within=False)
    _judge_over_calls(pairs, drifting)
    _judge_over_calls(pairs, other)
    assert [one["bias"] for one in drifting] == ["argument"] * 8
    assert [one["within"] for one in other] == [True] + [False] * 7
    assert "trend" not in other[0]
