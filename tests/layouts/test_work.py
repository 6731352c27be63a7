"""Following arrays costs what the program around them is, not that times the files or maps that it has."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Sequence

import pytest

from jaxmigrate.flow.layout import unknown_callers
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Key
from jaxmigrate.flow.layout.values import Abstract
from jaxmigrate.migrate.one_device import _Point, _Uses
from tests.layouts.running import plan

HEAD = "import jax\nimport jax.numpy as jnp\nfrom flax import jax_utils\n"
STEP = """

def step_{n}(w, x):
    return w - jax.lax.pmean(x * w, "i")


p_step_{n} = jax.pmap(step_{n}, axis_name="i")


def train_{n}(x):
    state = jax_utils.replicate(jnp.ones(3))
    return p_step_{n}(state, x)


if __name__ == '__main__':
    train_{n}(jnp.ones(8))
"""
LOADER = 'import importlib\n\nprint(importlib.import_module("main").train_0, {n})\n'


class Counting(dict[Key, Abstract]):
    """Variables that count how often all of them are gone through."""

    walks = 0

    def items(self) -> ItemsView[Key, Abstract]:  # type: ignore[override]
        Counting.walks += 1
        return super().items()

    def __iter__(self) -> Iterator[Key]:
        Counting.walks += 1
        return super().__iter__()


def test_what_files_out_of_sight_may_use_is_looked_up_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    use = unknown_callers.use_from_unread

    def use_from_unread(it: Interpreter) -> None:
        it.variables = Counting(it.variables)
        use(it)

    def walks(loaders: int) -> int:
        files = {"main.py": HEAD + STEP.format(n=0)}
        files |= {f"loader_{n}.py": LOADER.format(n=n) for n in range(loaders)}
        Counting.walks = 0
        plan(files)
        return Counting.walks

    monkeypatch.setattr(unknown_callers, "use_from_unread", use_from_unread)
    few, many = walks(2), walks(12)
    assert few == many > 0


def test_mentions_that_lead_nowhere_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = 0
    enter = _Uses._enter

    def counting(self: _Uses, point: _Point) -> Sequence[_Point]:
        nonlocal visited
        visited += 1
        return enter(self, point)

    monkeypatch.setattr(_Uses, "_enter", counting)
    reads = "".join(f"    print(function.name + {n})\n" for n in range(200))
    steps = "".join(STEP.format(n=n) + f"    show(p_step_{n})\n" for n in range(5))
    plan({"main.py": f"{HEAD}\n\ndef show(function):\n{reads}{steps}"})
    assert 0 < visited < 200
