"""Wrappers and decorators that leave a function what it is hide nothing from the layouts, whatever their name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.layouts.running import plan

FILES = ("main.py", "train.py")
MAPPED = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard

def score(x):
    return x.sum()

print(jax.pmap({wrapped})(shard(np.ones((8, 2)))).reshape(-1, 1))
"""
METHOD = """
import typing
import jax
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

class Trainer:
    {decorator}
    def put(self, params):
        return jax_utils.replicate(params)

    def run(self, params, x):
        step = jax.pmap(lambda p, x: jax.lax.pmean(p * x.mean(), "i"), axis_name="i")
        return jax_utils.unreplicate(step(self.put(params), shard(x)))

print(Trainer().run(np.ones(3), np.ones((8, 2))))
"""


def layouts(text: str) -> list[str]:
    """The layouts of the arguments of a program's one map, and of what it gives."""
    (site,) = plan({"main.py": text}).sites
    return [one.layout for one in (*site.arguments, *site.outputs)]


@pytest.mark.parametrize("wrapped", ["jax.jit(score)", "jax.remat(score)", "jax.custom_jvp(score)"])
def test_wrapped_bodies(wrapped: str) -> None:
    assert layouts(MAPPED.format(wrapped=wrapped)) == layouts(MAPPED.format(wrapped="score"))


@pytest.mark.parametrize("decorator", ["@typing.final", "@typing.override", "@typing.no_type_check"])
def test_decorated_methods(decorator: str) -> None:
    assert layouts(METHOD.format(decorator=decorator)) == ["replicated", "split", "replicated"]
    assert layouts(METHOD.format(decorator="@typing.unknown"))[0] == "stacked"


def test_a_namesake_in_another_program_is_no_use_of_a_function() -> None:
    text = (Path(__file__).parent / "provable" / "fields_apart.py").read_text("utf-8")
    alone = [[one.layout for one in site.arguments] for site in plan({"main.py": text}).sites]
    assert "replicated" in alone[0]
    programs = {f"{name}/{file}": text if file == "train.py" else "import train\n" for name in "ab" for file in FILES}
    found = plan(programs).sites
    assert [[one.layout for one in site.arguments] for site in found] == [*alone, *alone]
    used = plan({**programs, "a/main.py": "import train\nprint(train.train_step)\n"}).sites
    assert [one.layout for one in used[0].arguments] != alone[0]
