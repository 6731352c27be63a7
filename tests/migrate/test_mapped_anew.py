"""`step = pmap(step)` at a file's top: written as a decorator of `step`, and by a new name where something reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.running import Program, run

MAIN = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

RATE = 0.125


def step(w, x, rate=RATE):
    g = jax.lax.pmean(x.mean() * w, "n")
    return w - rate * g, jax.lax.psum(x.sum(), "n")


BETWEEN
step = MAPPED
w = jax_utils.replicate(jnp.ones(3))
for x in np.arange(32.0).reshape(2, 16):
    w, sums = step(w, shard(x))
RESULT = [np.asarray(w[0]).tolist(), np.asarray(sums).tolist()]
"""
PLAIN = 'jax.pmap(step, axis_name="n")'
DECORATED = {
    "plain": ("", PLAIN),
    "donated": ("", 'jax.pmap(step, "n", donate_argnums=(0,))'),
    "compiled": ("", 'jax.pmap(jax.jit(step), axis_name="n")'),
    "axis above": ('AXIS = "n"', "jax.pmap(step, axis_name=AXIS)"),
}
NAMED = {
    "options between": ("DONATED = (0,)", 'jax.pmap(step, "n", donate_argnums=DONATED)'),
    "partial": ("", 'jax.pmap(functools.partial(step, rate=0.25), axis_name="n")'),
    "twice": ("step = functools.partial(step, rate=0.25)", PLAIN),
    "read before": ("print(step.__name__)", PLAIN),
    "read in a function": ("def alone(w, x):\n    return step(w, x)\n", PLAIN),
}


def files(way: tuple[str, str], text: str = MAIN) -> dict[str, str]:
    return {"main.py": text.replace("BETWEEN", way[0]).replace("MAPPED", way[1])}


def written(program: dict[str, str], layout: str = "auto") -> str:
    found, errors = plan_sources([(n, Path("/p") / n, t) for n, t in program.items()], PlanOptions(layout))
    assert not errors
    return found.files[0].after


@pytest.mark.parametrize("way", list(DECORATED))
def test_the_function_is_decorated(way: str) -> None:
    text = written(files(DECORATED[way]))
    assert "def step_per_device(w, x, rate=RATE):" in text
    assert "\nstep = " not in text
    assert text.count("jax.shard_map(") == 1
    assert "shard_map_stacked" not in text


@pytest.mark.parametrize("way", list(NAMED))
def test_what_is_read_before_keeps_its_name_until_then(way: str) -> None:
    text = written(files(NAMED[way]))
    assert "step_fn = " in text
    assert text.count("jax.shard_map(") == 1
    assert "shard_map_stacked" not in text


def test_the_numbers_are_the_same() -> None:
    every = {**DECORATED, **NAMED}
    before = [Program(f"before {way}", files(one)) for way, one in every.items()]
    after = [
        Program(f"{lay} {way}", {"main.py": written(files(one), lay)}) for way, one in every.items() for lay in LAYOUTS
    ]
    found = run([*before, *after])
    for way in every:
        one = found[f"before {way}"]
        for lay in LAYOUTS:
            other = found[f"{lay} {way}"]
            assert (one["error"], other["error"]) == ("", "")
            assert one["result"] == other["result"]


LAYOUTS = ("auto", "stacked")
BUFFERED = MAIN.replace(
    "for x in np.arange(32.0).reshape(2, 16):\n    w, sums = step(w, shard(x))\n",
    "buffer, kept = np.zeros((16, 2)), []\nfor i in range(3):\n    buffer[:] = i\n    kept.append(shard(buffer))\n"
    "for x in kept:\n    w, sums = step(w, x)\n",
)


@pytest.mark.parametrize("read", ["x.mean() * w", "x.mean() * w + (x @ x.T).sum()"], ids=["once", "twice"])
def test_a_stacked_argument_loses_its_axis_once(read: str) -> None:
    """A batch of a buffer that is written again stays stacked."""
    before = files(DECORATED["plain"], BUFFERED.replace("x.mean() * w", read))
    after = written(before)
    assert after.count(".squeeze(0)") == 1
    found = run([Program("before", before), Program("after", {"main.py": after})])
    assert (found["before"]["error"], found["after"]["error"]) == ("", "")
    assert found["before"]["result"] == found["after"]["result"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    g = ", "    step.count = 1\n    g = "),
        ("def step(", "@functools.wraps(print)\ndef step("),
        ("\nstep = MAPPED", "\nif RATE:\n    step = MAPPED"),
        ("\nstep = MAPPED", "\nfor _ in range(1):\n    step = MAPPED"),
        ("RESULT =", "def other():\n    global step\n    step = None\n\nRESULT ="),
    ],
    ids=["in itself", "decorated", "under a condition", "in a loop", "set elsewhere"],
)
def test_other_places_keep_their_text(old: str, new: str) -> None:
    text = written(files(DECORATED["plain"], MAIN.replace(old, new)))
    assert "\nstep = jax.jit" not in text
    assert "def step(w, x, rate=RATE):" in text
