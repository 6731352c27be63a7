"""Maps and jits of one of several functions: each of them is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

HEAD = """\
import functools
import jax
from jax.sharding import PartitionSpec as P


def build(kind, spec, mesh):
"""
DEFS = """\
    if kind == 1:
        def step(state, batch):
            return state, 1.0, 2.0
    elif kind > 1:
        def step(state, batch):
            return state, 2.0, 3.0
    else:
        raise ValueError
"""
CHOSEN = """\
    def one(state, batch):
        return state, 1.0, 2.0
    def other(state, batch, scale):
        return state, batch, scale
    step = one if kind else functools.partial(other, scale=2.0)
"""
AGAIN = """\
    def step(state, batch):
        return state, 1.0, 2.0
    if kind:
        def step(state, batch):
            return state, 1.0
"""
MADE = [
    "    return jax.jit(step, in_shardings=(spec, P()), out_shardings=(spec, P()))\n",
    "    return jax.shard_map(step, mesh=mesh, in_specs=(spec, P()), out_specs=(spec, P()))\n",
]


def codes(text: str) -> list[str]:
    return [finding.code for finding in lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("defs", [DEFS, CHOSEN])
def test_each_of_several_functions_is_read(defs: str, made: str) -> None:
    assert set(codes(HEAD + defs + made)) == {"JM107"}
    right = made.replace("(spec, P()))\n", "(spec, P(), P()))\n")
    assert codes(HEAD + defs + right) == []


def test_a_function_that_another_takes_the_place_of_is_not_read() -> None:
    assert codes(HEAD + AGAIN + MADE[0]) == []
