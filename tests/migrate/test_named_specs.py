"""Specs that a site would say more than once get a name; dictionaries that `**` spreads are read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.modules import parse_module
from tests.layouts.running import Program, run
from tests.texts import flat

STATE = """
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import jax_utils


class State(NamedTuple):
    params: jax.Array
    opt_state: jax.Array
    key: jax.Array
    env_state: jax.Array


def make_learner(rate):
    def learn(state):
        key, next_key = jax.random.split(state.key)
        grads = jax.lax.pmean(state.env_state * jax.random.normal(key), "device")
        return state._replace(params=state.params - rate * grads.sum(), key=next_key), grads.sum()

    return learn


def main():
    n = jax.local_device_count()
    params, opt_state = jax_utils.replicate((jnp.ones(3), jnp.zeros(3)))
    keys = jax.random.split(jax.random.PRNGKey(0), n)
    state = State(params, opt_state, keys, jnp.arange(n * 2.0).reshape(n, 2))
    learn = make_learner(0.1)
    learn = jax.pmap(learn, axis_name="device")
    for _ in range(3):
        state, loss = learn(state)
    return [jnp.asarray(x).tolist() for x in (*jax_utils.unreplicate(state.params), loss)]


RESULT = main()
"""


def test_specs_of_a_named_tuple_are_said_once() -> None:
    after = fix_files({"main.py": STATE}, layout="auto")["main.py"]
    said = flat(after)
    assert said.count("State(params=P(), opt_state=P(), key=P('device'), env_state=P('device'))") == 1
    assert "state_specs = State(" in said
    assert "jax.shard_map(per_device(learn, **learn_specs), mesh=get_mesh(), **learn_specs, check_vma=False)" in said
    found = run([Program("before", {"main.py": STATE}), Program("after", {"main.py": after})])
    before, now = ({k: v for k, v in found[name].items() if k != "name"} for name in ("before", "after"))
    assert before == now


def keywords(text: str) -> list[str | None]:
    """The keywords that the last call of a program gives, as far as they can be read."""
    module = parse_module(Path("/p/main.py"), text)
    call = [n for n in module.nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == "f"][-1]
    return [argument.keyword for argument in call_arguments(call, module)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k = dict(a=1, b=2)\nf(0, **k)\n", [None, "a", "b"]),
        ("k = {'a': 1}\nf(**k)\nf(**k, b=2)\n", ["a", "b"]),
        ("f(**{'a': 1})\n", ["a"]),
        ("k = {'a': 1}\nk['b'] = 2\nf(**k)\n", ["a", "b"]),
        ("k = {'a': 1}\nif m:\n    k['b'] = 2\nf(**k)\n", ["a", "**"]),
        ("k = {'a': 1}\nf(**k)\nk['a'] = 2\n", ["**"]),
        ("k = {'a': 1}\ndef g():\n    f(**k)\nk['b'] = 2\ng()\n", ["a", "**"]),
        ("k = {'a': 1}\nk[m] = 2\nf(**k)\n", ["**"]),
        ("k = dict(a=1)\nk.update(b=2)\nf(**k)\n", ["**"]),
        ("k = dict(a=1)\nk = dict(b=1)\nf(**k)\n", ["**"]),
        ("k = dict(a=1, **m)\nf(**k)\n", ["**"]),
        ("k, m = dict(a=1), 2\nf(**k)\n", ["**"]),
        ("k = {}\nglobals()['k']['a'] = 1\nf(**k)\n", ["**"]),
        ("def g(k):\n    f(**k)\n", ["**"]),
    ],
)
def test_what_a_dictionary_spreads_is_read_where_nothing_changes_it(text: str, expected: list[str | None]) -> None:
    assert keywords(text) == expected
