"""Batches and states from out of sight have a row for each device only where the program takes no part of these."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import layouts, plan

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np

import source
IMPORTS


def step(params, batch):
    grads = jax.lax.pmean(jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params), "d")
    return params - 0.1 * grads


p_step = jax.pmap(step, axis_name="d")


def main(wanted):
COUNT
    params = source.MAKERS["params"](n)
    for i in range(2):
        params = p_step(params, source.MAKERS["batch"](n, i))
    return np.asarray(jax.tree.map(lambda x: x[0], params)).tolist()


RESULT = main(4)
"""
FEWER = {
    "the lesser of two": ("", "n = min(jax.device_count(), wanted)"),
    "half of them": ("", "n = jax.device_count() // 2"),
    "the first ones": ("", "n = len(jax.local_devices()[:wanted])"),
    "as many as divide the batch": ("", "n = jax.device_count()\nwhile 12 % n:\n    n -= 1"),
    "enough of them": ("", "assert jax.local_device_count() >= wanted\nn = wanted"),
    "enough or none": ("", "if jax.device_count() < wanted:\n    raise SystemExit(wanted)\nn = wanted"),
    "a name from elsewhere": ("from machine import HALF", "n = HALF"),
    "a name of a module": ("import machine", "n = machine.HALF"),
    "a module by another name": ("import machine as m", "n = m.HALF"),
    "a function from elsewhere": ("from machine import wanted_devices", "n = wanted_devices(wanted)"),
    "a function of a module": ("import machine", "n = machine.wanted_devices(wanted)"),
}
ALL = {
    "their number": ("", "n = jax.device_count()"),
    "a name of it from elsewhere": ("from machine import ALL", "n = ALL"),
    "a name of a module": ("import machine", "n = machine.ALL"),
    "a check that there are some": ("", "assert jax.device_count() >= 1\nn = jax.device_count()"),
    "a batch that they divide": ("", "n = jax.device_count()\nassert 16 % n == 0"),
}
FILES = {
    "source.py": """\
import numpy as np


def params(n, i=0):
    return np.stack([np.arange(3, dtype=np.float32)] * n)


def batch(n, i=0):
    return np.random.default_rng(i).normal(size=(n, 2, 3)).astype("f4")


MAKERS = {"params": params, "batch": batch}
""",
    "machine.py": """\
import jax

ALL = jax.device_count()
HALF = max(1, jax.device_count() // 2)


def wanted_devices(wanted):
    return min(wanted, jax.device_count())
""",
}


def _files(imports: str, count: str) -> dict[str, str]:
    lines = "\n".join(f"    {line}" for line in count.splitlines())
    return {"main.py": MAIN.replace("IMPORTS", imports).replace("COUNT", lines), **FILES}


@pytest.mark.parametrize("way", FEWER)
def test_nothing_is_presumed_where_there_may_be_fewer_rows(way: str) -> None:
    assert layouts(plan(_files(*FEWER[way]))) == (["stacked", "stacked"], ["stacked"])


@pytest.mark.parametrize("way", ALL)
def test_it_is_where_all_devices_have_one(way: str) -> None:
    assert layouts(plan(_files(*ALL[way]))) == (["replicated", "split"], ["replicated"])


def test_a_file_that_imports_the_one_with_the_map_may_take_a_part() -> None:
    trainer, main = _files("", "n = wanted")["main.py"].split("RESULT")
    main = "import jax\nimport trainer\n\nRESULT" + main.replace("main(4)", "trainer.main(jax.device_count() // 2)")
    found = plan({"main.py": main, "trainer.py": trainer, **FILES})
    assert layouts(found) == (["stacked", "stacked"], ["stacked"])


ONE = """\
import jax
import jax.numpy as jnp
import numpy as np

import source


def step(params, batch):
    grads = jax.lax.psum(jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params), "d")
    return params - 0.1 * grads


p_step = jax.pmap(step, axis_name="d")
params = source.MAKERS["params"](1)
whole = source.MAKERS["batch"](16).reshape(16, 6)[:, :3]
for i in range(2):
    batch = ROW
    params = p_step(params, batch)
RESULT = np.asarray(jax.tree.map(lambda x: x[0], params)).tolist()
"""
ROWS = (
    "whole[None]",
    "whole[np.newaxis, ...]",
    "np.expand_dims(whole, 0)",
    "jnp.expand_dims(whole, axis=0)",
    "whole.reshape((1, *whole.shape))",
    "whole.reshape(1, 16, 3)",
    "np.reshape(whole, (1, 16, 3))",
    "jax.tree.map(lambda x: x[None], whole)",
)


@pytest.mark.parametrize("row", ROWS)
def test_nothing_is_presumed_where_one_row_is_mapped(row: str) -> None:
    files = {"main.py": ONE.replace("ROW", row), **FILES}
    assert layouts(plan(files)) == (["stacked", "stacked"], ["stacked"])


def test_a_row_of_another_axis_is_no_row_of_devices() -> None:
    files = {"main.py": ONE.replace("ROW", "whole.reshape(8, 1, 2, 3)[:, 0]"), **FILES}
    assert layouts(plan(files)) == (["replicated", "split"], ["replicated"])
