"""Following arrays costs what the program around them is, not that times the files or maps that it has."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Sequence
from pathlib import Path

import pytest

from jaxmigrate.flow.layout import alias_flow, buffers, decide, engine, unknown_callers
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Assumed, Key
from jaxmigrate.flow.layout.values import Abstract
from jaxmigrate.migrate.one_device import _Point, _Uses
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from jaxmigrate.program.imports import imported_files
from jaxmigrate.program.modules import Module, Project
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


def test_who_imports_what_is_looked_up_once_however_many_variables_hold_an_array(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = 0

    def counting(importer: Path, text: str, project: Project) -> frozenset[Path]:
        nonlocal looked
        looked += 1
        return imported_files(importer, text, project)

    def lookups(variables: int) -> int:
        nonlocal looked
        looked = 0
        more = "".join(f"DATA_{n + 1} = DATA_{n}\n" for n in range(variables))
        last = f"\n\ndef run(state):\n    return p_step_0(state, DATA_{variables}.reshape(8, -1))\n"
        text = HEAD + "from data import DATA_0\n\n" + more + STEP.format(n=0) + last
        plan_sources([("main.py", Path("/project/main.py"), text)], PlanOptions("likely"))
        return looked

    monkeypatch.setattr(alias_flow, "imported_files", counting)
    few, many = lookups(3), lookups(30)
    assert few == many > 0


def test_what_is_written_is_asked_once_of_a_program_that_is_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    followed: list[object] = []
    is_written = buffers._is_written

    def asking(operand: buffers.Operand, it: Interpreter) -> bool:
        asked.append(operand)
        return is_written(operand, it)

    def following(it: Interpreter) -> bool:
        followed.append(it)
        return engine.follow(it)

    monkeypatch.setattr(buffers, "_is_written", asking)
    monkeypatch.setattr(decide, "follow", following)
    text = HEAD + STEP.format(n=0) + "\n\ndef run(state, batch):\n    return p_step_0(state, batch.reshape(8, -1))\n"
    plan_sources([("main.py", Path("/project/main.py"), text)], PlanOptions("likely"))
    assert len(followed) > 1
    assert len(asked) == len(set(asked)) > 0


def test_a_body_that_reads_what_it_has_set_itself_is_not_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[bool] = []
    body = engine._module_body

    def following(it: Interpreter, module: Module, assumed: Assumed) -> None:
        followed.append(it.final)
        body(it, module, assumed)

    monkeypatch.setattr(engine, "_module_body", following)
    step = STEP.format(n=0).partition("\n\nif __name__")[0]
    plan({"main.py": HEAD + "SIZE = [3]\nprint(SIZE)\n\n\ndef total():\n    return SIZE\n" + step})
    assert followed == [False, True]  # for the second time once nothing changes any more
