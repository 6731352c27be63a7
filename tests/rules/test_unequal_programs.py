"""What devices do each by itself, not together (JM206, JM215 to JM217), and specs for wrong dimensions (JM120).

`unequal_programs.txt` has each program with the line that makes it wrong, and behind `#>` the line that makes it right;
each ran both ways on 8 devices, but for those that need what is not installed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TEXT = Path(__file__).with_name("unequal_programs.txt").read_text("utf-8")
PROGRAMS = [one.split("\n", 1) for one in re.split(r"^=== ", TEXT, flags=re.MULTILINE)[1:]]


def codes(text: str) -> set[str]:
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return {one.code for one in found if one.code.startswith(("JM1", "JM2", "JM3"))}


def way(line: str, *, right: bool) -> str:
    wrong, _, other = line.partition("#>")
    return wrong if not other or not right else " " * (len(wrong) - len(wrong.lstrip())) + other.strip()


@pytest.mark.parametrize(("head", "text"), PROGRAMS, ids=[head for head, _ in PROGRAMS])
def test_the_wrong_program_is_told_and_the_right_one_is_not(head: str, text: str) -> None:
    lines = text.splitlines()
    assert head.split(maxsplit=1)[0] in codes("\n".join(way(line, right=False) for line in lines))
    assert codes("\n".join(way(line, right=True) for line in lines)) == set()


RIGHT = {
    "clipped before, as a comment says": """
def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    # As in the paper, each device clips before the pmean.
    grads = jnp.clip(grads, -1, 1)
    grads = jax.lax.pmean(grads, "batch")
    return w - 0.1 * grads
""",
    "each device's own gradients, beside those of all, to compare": """
def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    mean = jax.lax.pmean(grads, "batch")
    return w - 0.1 * mean, jnp.vdot(grads, grads)
""",
    "a step against flat minima": """
def step(w, x):
    loss = lambda w: jnp.mean((x @ w) ** 2)
    first = jax.grad(loss)(w)
    grads = jax.grad(loss)(w + 0.1 * first / jnp.linalg.norm(first)) - 0.1 * first / jnp.linalg.norm(first)
    return w - 0.1 * jax.lax.pmean(grads, "batch")
""",
    "the shares of a batch": """
def step(w, x):
    grads = jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.psum(grads, "batch") / 32
""",
    "a deviation that is shown": """
def step(w, x):
    y = x @ w
    return jax.lax.pmean({"mean": y.mean(), "std": y.std()}, "batch")
""",
    "a mask of a device's own examples after a step": """
def step(w, x):
    grads = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), "batch")
    w = w - 0.1 * grads
    return w, jax.lax.pmean(jnp.where(x.sum(-1) > 0, x @ w, 0.0).mean(), "batch")
""",
}


@pytest.mark.parametrize("words", RIGHT)
def test_what_is_right_beside_it(words: str) -> None:
    text = f"import jax\nimport jax.numpy as jnp\n{RIGHT[words]}\n"
    assert codes(text + 'p_step = jax.pmap(step, axis_name="batch", in_axes=(None, 0))\n') == set()
