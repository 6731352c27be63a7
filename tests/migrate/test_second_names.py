"""An operation that is no more leaves no second name behind, and no tuple that a call takes apart at once.

All programs run before and after, and must agree bitwise.
"""

from __future__ import annotations

from functools import cache

import pytest

from jaxmigrate.migrate import fix_files
from tests.layouts.running import Program, run

HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.arange(48, dtype=np.float32).reshape(8, 6) / 7


@functools.partial(jax.pmap, axis_name="i")
def step(state, batch):
    grad = jax.lax.pmean((batch * state).mean(), "i")
    return state - 0.1 * grad, {"loss": grad, "norm": jax.lax.pmax(batch.max(), "i")}


def show(**words):
    return {name: np.asarray(value).tolist() for name, value in words.items()}


def add(a, b, c=0.0):
    return float(a.sum() + b + c)


"""
MAIN = """def main():
    state = jax_utils.replicate(jnp.ones(6))
    found = []
    for round in range(3):
        state, logs = step(state, BATCH)
{body}
    return found


RESULT = main()
"""
GONE = {  # what stands in the loop, and what is no more
    "one read": ("last = jax_utils.unreplicate(logs)\nfound.append(show(**last))", "last"),
    "two reads": (
        "now = jax.tree.map(lambda x: x[0], state)\nfound += [show(now=now), show(again=now + round)]",
        "now",
    ),
    "a tuple": (
        "now, last = jax.tree.map(lambda x: x[0], (state, logs))\nfound.append(show(now=now, loss=last['loss']))",
        "now",
    ),
    "in a branch below": ("now = jax_utils.unreplicate(state)\nif round:\n    found.append(show(now=now))", "now"),
    "the value of what binds the first": (
        "old = state[0]\nstate = jax_utils.replicate(old * 2)\nfound += [show(x=logs['loss'][0])]",
        "old",
    ),
}
STAY = {  # what has to keep its name, since the first one does not stand for the same where it is read
    "the first is bound anew": (
        "now = jax_utils.unreplicate(state)\nstate, logs = step(state, BATCH)\nfound.append(show(now=now))"
    ),
    "in a loop": (
        "now = jax_utils.unreplicate(state)\nfor _ in range(2):\n"
        "    found.append(show(now=now))\n    state, logs = step(state, BATCH)"
    ),
    "a function": (
        "now = jax_utils.unreplicate(state)\nsay = lambda: show(now=now)\n"
        "state, logs = step(state, BATCH)\nfound.append(say())"
    ),
    "by its name": "now = jax_utils.unreplicate(state)\nfound.append(np.asarray(locals()['now']).tolist())",
    "said": "now = jax_utils.unreplicate(state)\nfound.append(f'{now=}')",
    "dropped": "now = jax_utils.unreplicate(state)\nfound.append(show(now=now))\ndel now",
    "many reads": "now = jax_utils.unreplicate(state)\nfound += [show(a=now), show(b=now + 1), show(c=now * 2)]",
    "in the next round": (
        "if round:\n    found.append(show(now=now))\nnow = jax_utils.unreplicate(state)\nfound.append(round)"
    ),
    "within what binds the first": (
        "now = jax_utils.unreplicate(state)\nfor state in [state * 2]:\n    found.append(show(now=now))\n"
    ),
    "the walrus": "now = jax_utils.unreplicate(state)\nfound.append([state := state * 2, show(now=now)][1])",
}
CALLS = {  # a call, and how it reads
    "first": ("add(*jax.tree.map(lambda x: x[0], (state, other)), 2.0)", "add(state, {other}, 2.0)"),
    "last": ("add(jnp.ones(2), *jax.tree.map(lambda x: x[0], (seeds, other)))", None),
    "by keyword": ("add(*jax.tree.map(lambda x: x[0], (state, other)), c=round)", "add(state, {other}, c=round)"),
    "alone": ("add(*jax.tree.map(lambda x: x[0], (state, other)))", "add(state, {other})"),
}
STACKED = """@functools.partial(jax.pmap, axis_name="i")
def own(state, batch, other):
    return state - 0.1 * jax.lax.pmean((batch * state).mean(), "i"), other + batch.sum()


def main():
    state, seeds = jax_utils.replicate((jnp.ones(6), jnp.float32(1)))
    other = np.linspace(0, 1, 8, dtype=np.float32)
    found = []
    for round in range(3):
        state, other = own(state, BATCH, other)
        found.append({call})
    return found


RESULT = main()
"""


def indented(body: str) -> str:
    return "\n".join(f"        {line}" for line in body.split("\n"))


PROGRAMS = {
    **{f"gone, {name}": HEAD + MAIN.format(body=indented(body)) for name, (body, _) in GONE.items()},
    **{f"stays, {name}": HEAD + MAIN.format(body=indented(body)) for name, body in STAY.items()},
    **{f"call, {name}": HEAD + STACKED.format(call=call) for name, (call, _) in CALLS.items()},
}


@cache
def after(name: str) -> str:
    return fix_files({"main.py": PROGRAMS[name]}, "auto")["main.py"]


@cache
def results() -> dict[str, dict[str, object]]:
    every = [Program(f"{name}, before", {"main.py": text}) for name, text in PROGRAMS.items()]
    every += [Program(f"{name}, after", {"main.py": after(name)}) for name in PROGRAMS]
    return run(every)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_the_same(name: str) -> None:
    before, now = (
        {k: v for k, v in results()[f"{name}, {when}"].items() if k != "name"} for when in ("before", "after")
    )
    assert not before["error"]
    assert before == now


@pytest.mark.parametrize("name", GONE)
def test_a_second_name_goes(name: str) -> None:
    text = after(f"gone, {name}")
    assert "unreplicate" not in text
    assert f"{GONE[name][1]} = " not in text
    assert f"{GONE[name][1]}, " not in text


@pytest.mark.parametrize("name", STAY)
def test_a_name_that_means_something_else_stays(name: str) -> None:
    assert "now = " in after(f"stays, {name}")


@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_no_tuple_apart(name: str) -> None:
    text = after(f"call, {name}")
    assert "*(" not in text
    shown = CALLS[name][1]
    assert shown is None or shown.format(other="jax.tree.map(lambda x: x[0], other)") in text


def test_a_second_name_of_the_author_stays() -> None:
    body = "last = logs\nfound.append(last['loss'])\nnow = jax_utils.unreplicate(state)\nfound.append(add(now, 1))"
    text = fix_files({"main.py": HEAD + MAIN.format(body=indented(body))}, "auto")["main.py"]
    assert "last = logs" in text
    assert "now = " not in text
