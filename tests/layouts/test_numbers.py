"""Outputs that are evidently one number on each device."""

from __future__ import annotations

from tests.layouts.running import plan

WRAPPED_IN_ITSELF = """
import jax
import numpy as np
from flax.training.common_utils import shard

class Scorer:
    def __init__(self):
        self.score = jax.jit(self.score)
        self.p_score = jax.pmap(self.score)

    def run(self, x):
        return self.p_score(shard(x)).reshape(-1, 1)

print(Scorer().run(np.ones((8, 2))))
"""


def test_what_is_wrapped_in_itself_is_not_followed_for_ever() -> None:
    (site,) = plan({"main.py": WRAPPED_IN_ITSELF}).sites
    assert [one.layout for one in site.arguments] == ["split"]
