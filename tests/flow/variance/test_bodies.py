"""Every way in which Python and JAX bring a value from one name to another, in the body of a map.

`bodies.txt` has one on each line: from `own`, and from `k`, which is equal on all devices, to `v`. ` ### ` ends what
stands before the step, `\\n` is a line's end. Where `own` differs between devices, `v` must not be called equal; where
it does not, `v` is called so on the lines that begin with `=`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from tests.flow.variance.unwritten import unwritten
from tests.longer import all_but_every

BODIES = Path(__file__).with_name("bodies.txt").read_text("utf-8").splitlines()
CHUNKS = 16
PROGRAM = """import collections, contextlib, copy, dataclasses, enum, functools, itertools, math, operator
import string, types, typing
from typing import Any, NamedTuple
import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils, struct
from flax.training import train_state
from flax.training.common_utils import onehot, shard
from jax import lax

G = None
STORE = []
TABLE = {{}}


class NT(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class DC:
    a: Any = None
    b: Any = None


@struct.dataclass
class SD:
    a: Any
    b: Any


class Box:
    pass


{before}
"""
STEP = """

def step{number}(w, kept, x):
    loss = jnp.mean((x @ w - 1) ** 2)
    k = kept["own"]
    own = {own}
{body}
    return w - lax.pmean(loss, "batch") / 1000, {{"loss": kept["loss"], "own": v}}


p_step{number} = jax.pmap(step{number}, axis_name="batch")
w{number} = jax_utils.replicate(np.ones(3, np.float32))
kept{number} = jax_utils.replicate({{"loss": np.float32(0), "own": np.float32(0)}})
for _ in range(2):
    w{number}, kept{number} = p_step{number}(
        w{number}, kept{number}, shard(np.arange(48, dtype=np.float32).reshape(16, 3))
    )
"""
ALONE = re.compile(r" ### |\b(?:G|STORE|TABLE|global|locals|globals)\b")  # what others could see


def programs(lines: list[str]) -> list[list[str]]:
    """The lines whose steps one program holds: each that leaves something in the module has one of its own."""
    alone = [line for line in lines if ALONE.search(line)]
    together = [line for line in lines if line not in alone]
    return [*([together] if together else []), *([line] for line in alone)]


def layouts(lines: list[str], own: str) -> dict[str, str]:
    """By line, the layout of what a step gives back that brings a value to `v`; each line is written once."""
    split = [line[2:].replace("\\n", "\n").rpartition(" ### ") for line in lines]
    text = PROGRAM.format(before="\n".join(before for before, _, _ in split))
    for number, (_, _, body) in enumerate(split):
        text += STEP.format(number=number, own=own, body="\n".join(f"    {one}" for one in body.split("\n")))
    compile(text, lines[0], "exec")
    with unwritten(all(line.startswith("=") for line in lines) and "loss * loss" in own):
        plan, _ = plan_sources([("main.py", Path("/nowhere/main.py"), text)], PlanOptions("auto"))
    outputs = ((line, site.outputs) for line, site in zip(lines, plan.sites, strict=True))
    return {line: (found[1:] or found)[0].layout for line, found in outputs}  # what lays out its arguments gives one


@pytest.mark.parametrize("chunk", all_but_every(2, CHUNKS))
def test_what_differs_is_followed(chunk: int) -> None:
    followed = [line for line in BODIES[chunk::CHUNKS] if line.startswith("=")]
    others = [line for line in BODIES[chunk::CHUNKS] if not line.startswith("=")]
    for lines in (*programs(followed), *programs(others)):
        assert {line: one for line, one in layouts(lines, "loss * loss").items() if one != "stacked"} == {}


@pytest.mark.parametrize("chunk", all_but_every(2, CHUNKS))
def test_what_is_equal_is_followed(chunk: int) -> None:
    for lines in programs([line for line in BODIES[chunk::CHUNKS] if line.startswith("=")]):
        assert {line: one for line, one in layouts(lines, "kept['loss'] * 2").items() if one != "replicated"} == {}
