"""Lines that a statement needed no longer go, and a map within brackets of few lines has them laid out anew."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.migrate import fix_files

HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def generator_step(params, batch):
    return params - jax.lax.pmean(batch.mean(), "devices")


def discriminator_step(params, batch):
    return params + jax.lax.pmean(batch.mean(), "devices")


"""
MAKE = (
    HEAD
    + """def make(flag):
    first, second = functools.partial(generator_step), functools.partial(discriminator_step)
    if flag:
        first = second
{returned}


def main(batch):
    left, right = make(True)
    params = jax_utils.replicate(jnp.ones(3))
    params = left(params, batch)
    return np.asarray(right(params, batch)[0])


def show(batch):
    p_step = jax.pmap(generator_step, axis_name="devices")
    the_parameters_of_it_all = p_step(jax_utils.replicate(jnp.ones(3)), batch)
{shown}


RESULT = main(np.ones((8, 2, 3), np.float32)), show(np.ones((8, 2, 3), np.float32))
"""
)
TUPLE = """    return (jax.pmap(first, axis_name="devices", donate_argnums=(0,), static_broadcasted_argnums=()),
            jax.pmap(second, axis_name="devices", donate_argnums=(0,), static_broadcasted_argnums=()))"""
OWN = """    return (
        jax.pmap(first, axis_name="devices"),
        jax.pmap(second, axis_name="devices"),
    )"""
LONG = """    a_name_that_is_longer_than_all_the_others = np.asarray({comment}
        jax.tree.map(lambda parameter: parameter[0], the_parameters_of_it_all){comma}
    )
    return a_name_that_is_longer_than_all_the_others"""
NEVER = """    kept = np.asarray(
        jax_utils.unreplicate(the_parameters_of_it_all)
    )
    return kept"""
SHOWN = {
    "short": (
        LONG.format(comment="", comma=""),
        "    a_name_that_is_longer_than_all_the_others = np.asarray(the_parameters_of_it_all)\n",
    ),
    "comment": (
        LONG.format(comment="  # on the host", comma=""),
        "np.asarray(  # on the host\n        the_parameters_of_it_all\n    )\n",
    ),
    "never needed": (NEVER, "    kept = np.asarray(\n        the_parameters_of_it_all\n    )\n"),
    "a line for each": (
        LONG.format(comment="", comma=","),
        "np.asarray(\n        the_parameters_of_it_all,\n    )\n",
    ),
}


def after(returned: str, shown: str) -> str:
    text = MAKE.format(returned=returned, shown=shown)
    ast.parse(text)
    return fix_files({"main.py": text}, "auto")["main.py"]


@pytest.mark.parametrize("name", SHOWN)
def test_a_statement_that_has_become_short(name: str) -> None:
    shown, written = SHOWN[name]
    assert written in after(TUPLE, shown)


def test_maps_in_brackets_of_few_lines() -> None:
    text = after(TUPLE, SHOWN["short"][0])
    lines = text[text.index("    return (") :].split("\n")
    assert lines[0] == "    return ("
    assert all(line.startswith("        ") for line in lines[1 : lines.index("    )")])


def test_brackets_with_a_line_for_each() -> None:
    assert "    return (\n        jax.jit(" in after(OWN, SHOWN["short"][0])


RETURNED = """import jax


@jax.pmap
def make(key, rate):
    return create(
            apply=apply,
            params=init(key),
            )


@jax.pmap
def train(state, first_argument, second_argument, third_argument, fourth_argument, fifth_argument):
    return state
"""


def test_a_bracket_below_the_arguments_shows_no_indentation() -> None:
    after = fix_files({"main.py": RETURNED})["main.py"]
    assert "    out = create(\n            apply=apply,\n            params=init(key),\n            )\n" in after


MANY = """import functools
import jax


@functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(4, 5, 6, 7, 8))
def train_many(state, random_key, all_images, all_labels, steps_per_call, \
schedule_fn, optimizer, uses_bfloat, temperature):
    return state, random_key
"""


def test_a_head_that_was_broken_is_not_broken_again() -> None:
    after = fix_files({"main.py": MANY})["main.py"]
    assert "def train_many(\n" in after
    assert "\n\n)" not in after
