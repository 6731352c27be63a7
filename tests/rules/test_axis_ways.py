"""Every way in which Python, JAX and flax lead from a map to a collective, and bring it the name of its axis.

`axis_ways.txt` has one on each line: what stands in the module, ` ### `, and an expression of the mapped function;
`\\n` is a line's end, AX the name. JM101 has to tell of a name that the map does not bind, and of no other.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.linting import lint
from jaxmigrate.sources import decode

WAYS = Path(__file__).with_name("axis_ways.txt").read_text("utf-8").splitlines()
PROGRAM = """import dataclasses, enum, functools, types
from typing import Any, NamedTuple
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax import lax

{before}

def step(x):
    y = {expression}
    return y

p_step = jax.pmap(step, axis_name="batch")
"""


def codes(way: str, axis: str) -> set[str]:
    """The rules about axes that find something in a program."""
    before, _, expression = way.replace("AX", f'"{axis}"').replace("\\n", "\n").partition(" ### ")
    text = PROGRAM.format(before=before, expression=expression)
    compile(text, way, "exec")
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return {finding.code for finding in found if finding.code.startswith("JM1")}


@pytest.mark.parametrize("way", WAYS)
def test_the_name_of_an_axis_is_followed(way: str) -> None:
    assert codes(way, "device") == {"JM101"}
    assert codes(way, "batch") == set()
