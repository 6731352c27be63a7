"""Every way in which a body lets a predicate decide whether a collective runs: JM301 tells of one that differs.

`divergence_ways.txt` has one on each line: what stands in the module, ` ### `, and an expression of the mapped
function; `\\n` is a line's end, V what the predicate depends on, C a function that sums over the devices.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.linting import lint
from jaxmigrate.sources import decode

WAYS = Path(__file__).with_name("divergence_ways.txt").read_text("utf-8").splitlines()
PROGRAM = """import collections, functools
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax import lax

def C(y):
    return lax.psum(y, "batch")

{before}

def step(x):
    return {expression}

p_step = jax.pmap(step, axis_name="batch")
"""


def codes(way: str, value: str) -> set[str]:
    """The rules about axes, reductions and control flow that find something in a program."""
    before, _, expression = re.sub(r"\bV\b", value, way).replace("\\n", "\n").partition(" ### ")
    text = PROGRAM.format(before=before, expression=expression)
    compile(text, way, "exec")
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return {finding.code for finding in found if finding.code[:3] in ("JM1", "JM2", "JM3")}


@pytest.mark.parametrize("way", WAYS)
def test_a_predicate_is_followed(way: str) -> None:
    assert codes(way, "jnp.float32(lax.axis_index('batch'))") == {"JM301"}
    assert codes(way, "lax.pmean(x.sum(), 'batch')") == set()
