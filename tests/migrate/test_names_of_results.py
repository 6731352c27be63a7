"""What mapped functions return has the names that their authors have for it: `(params, rng), losses = lax.scan(...)`.

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

BATCH = np.arange(96, dtype=np.float32).reshape(8, 4, 3) / 50
KEYS = jax.random.split(jax.random.PRNGKey(0), 8)


def advance(carry, x):
    w, key = carry
    key, own = jax.random.split(key)
    grad = jax.lax.pmean(x.mean() * w + jax.random.normal(own, ()), "i")
    return (w - 0.1 * grad, key), grad.sum()


"""
TRAIN = """

def train():
    w, keys = jax_utils.replicate(jnp.ones(3)), KEYS
    losses = []
    for _ in range(2):
        (w, keys), loss = {call}
        losses.append(float(loss.sum()))
    return jax.tree.map(np.asarray, (jax_utils.unreplicate(w), keys, losses))


RESULT = train()
"""
STEP = """@functools.partial(jax.pmap, axis_name="i")
def update(w, key, batch):
{body}
""" + TRAIN.format(call="update(w, keys, BATCH)")
NAMED = {  # a body, and what is written for it
    "of scan": (
        "states, losses = jax.lax.scan(advance, (w, key), batch)\nreturn states, losses[None].sum()",
        "(w, key), losses = jax.lax.scan(advance, (w, key), batch)",
    ),
    "by keyword": (
        "states, losses = jax.lax.scan(advance, init=(w, key), xs=batch)\nreturn states, losses.sum()",
        "(w, key), losses = jax.lax.scan(advance, init=(w, key), xs=batch)",
    ),
    "of fori_loop": (
        "carry = jax.lax.fori_loop(0, 4, lambda i, c: advance(c, batch[i])[0], (w, key))\nreturn carry, batch.sum()",
        "w, key = jax.lax.fori_loop(0, 4, lambda i, c: advance(c, batch[i])[0], (w, key))",
    ),
    "of callers": (
        "state, loss = advance((w, key), batch)\nreturn state, loss",
        "(w, keys), loss = advance((w, key), batch)",
    ),
    "other names": (
        "first, rng = w * 1.0, key\nout, losses = jax.lax.scan(advance, (first, rng), batch)\nreturn out, losses.sum()",
        "(first, rng), losses = jax.lax.scan(advance, (first, rng), batch)",
    ),
}
BY_PLACE = {  # names that stand for something else where the tuple is returned, or for other code
    "read below": "states, losses = jax.lax.scan(advance, (w, key), batch)\nreturn states, losses.sum() + w.sum() * 0",
    "read in a function": (
        "scale = lambda v: v * w.mean()\n"
        "states, losses = jax.lax.scan(advance, (w, key), batch)\nreturn states, scale(losses.sum())"
    ),
    "read twice": (
        "states, losses = jax.lax.scan(advance, (w, key), batch)\nreturn states, losses.sum() + states[0].sum() * 0"
    ),
    "in a loop": (
        "states = (w, key)\nfor i in range(4):\n    states, loss = advance(states, batch[i])\nreturn states, loss"
    ),
    "the same twice": ("states, w = advance((w, key), batch)\nreturn states, w"),
    "by its name": (
        "states, losses = jax.lax.scan(advance, (w, key), batch)\nreturn states, losses.sum() + locals()['w'].sum() * 0"
    ),
}
AROUND = """def make(scale):
    def update(w, key, batch):
{body}

    return update


def two(w, key, batch):
    return make(2.0)(w, key, batch)


def show(f):
    return f(jnp.ones(3), KEYS[0], BATCH[0], ) if False else None


def train():
    w, keys = jax_utils.replicate(jnp.ones(3)), KEYS
    update = make(2.0)
    show(update)
    update = jax.pmap(update, axis_name="i")
    losses = []
    for _ in range(2):
        {targets} = update(w, keys, BATCH)
        losses.append(jax.tree.map(np.asarray, (loss, more)))
    return jax.tree.map(np.asarray, (jax_utils.unreplicate(w), keys, losses))


RESULT = train()
"""
FIRST = "grad = jax.lax.pmean(scale * batch.mean() * w, 'i')\nkey, own = jax.random.split(key)\n"
WRAPPED = {  # what a function returns that cannot be changed, its callers' names, and what is written around it
    "its own names": (
        FIRST
        + "w = w - grad\nloss = grad.sum()\nnoise = {'n': jax.random.normal(own, ())}\nreturn w, key, loss, noise",
        "w, keys, loss, more",
        "w, key, loss, noise = update_fn(",
    ),
    "its callers' names": (
        FIRST + "return w - grad, key, grad.sum(), {'n': jax.random.normal(own, ())}",
        "w, keys, loss, more",
        "w, keys, loss, more = update_fn(",
    ),
    "no names": (
        FIRST + "return w - grad, key, grad.sum(), {'n': jax.random.normal(own, ())}",
        "w, keys, *(loss, more)",
        "out0, *outs = update_fn(",
    ),
    "that of the function": (
        FIRST + "update_fn = grad.sum()\nmore = jax.random.normal(own, ())\nreturn w - grad, key, update_fn, more",
        "w, keys, loss, more",
        "= update_fn(",
    ),
}
AT_ONCE = """fit = jax.vmap(lambda w, x: (jnp.sum(w * x), x * 2))


def population(candidates, start):
    fitness, end = jax.pmap(fit)(candidates, start)
    return fitness, end


RESULT = jax.tree.map(np.asarray, population(BATCH, BATCH * 2))
"""


def indented(body: str, by: int = 4) -> str:
    return "\n".join(" " * by + line for line in body.split("\n"))


PROGRAMS = {
    **{f"named, {name}": HEAD + STEP.format(body=indented(body)) for name, (body, _) in NAMED.items()},
    **{f"by place, {name}": HEAD + STEP.format(body=indented(body)) for name, body in BY_PLACE.items()},
    **{
        f"around, {name}": HEAD + AROUND.format(body=indented(body, 8), targets=targets)
        for name, (body, targets, _) in WRAPPED.items()
    },
    "at once": HEAD + AT_ONCE,
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


@pytest.mark.parametrize("name", NAMED)
def test_parts_of_a_returned_tuple_have_names(name: str) -> None:
    text = after(f"named, {name}")
    assert NAMED[name][1] in text
    assert "[1])" not in text


@pytest.mark.parametrize("name", BY_PLACE)
def test_names_that_mean_something_else_stay(name: str) -> None:
    assert "states[1]" in after(f"by place, {name}")


@pytest.mark.parametrize("name", WRAPPED)
def test_a_function_around_another_has_its_names(name: str) -> None:
    text = after(f"around, {name}")
    assert WRAPPED[name][2] in text
    assert "update = sharded_update" not in text


def test_a_map_that_is_called_at_once_has_named_arguments() -> None:
    text = after("at once")
    assert "def sharded_fit(candidates, start):" in text
    assert "*args" not in text
