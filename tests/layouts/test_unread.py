"""Files that only a later Python parses keep what they may use as it is: their text cannot change with the rest."""

from __future__ import annotations

import sys

import pytest

from jaxmigrate.program.newer import may_be_newer
from tests.layouts.running import plan

NORM = """\
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="i")
def normalise(tree):
    total = sum(jnp.sum(x**2) for x in jax.tree.leaves(tree))
    return jax.tree.map(lambda x: jax.lax.pmean(x / total, "i"), tree)
"""
HOLDER = """\


class Holder:
    def __init__(self, state):
        self.state = state

    def update(self):
        self.state = normalise(self.state)
"""
USER = """\
import jax
from flax import jax_utils

import norm

state = norm.normalise(jax_utils.replicate({"w": 3.0}))
print(jax_utils.unreplicate(state))
"""
NEWER = "\n\nfirst = lambda [T] x: x\ntype Tree = dict[str, float]\n"  # which no release parses
ATTRIBUTE = """\
import jax
from flax import jax_utils

import norm

holder = norm.Holder(jax_utils.replicate({"w": 3.0}))
holder.update()
print(jax_utils.unreplicate(holder.state))
"""


def is_global(files: dict[str, str]) -> bool:
    """Whether some array of a program is a global one, and no file changes but in the stacked form if not."""
    found = plan(files)
    layouts = {array.layout for site in found.sites for array in (*site.arguments, *site.outputs)}
    return bool(layouts & {"replicated", "split"})


def test_what_such_a_file_uses_stays_stacked() -> None:
    assert is_global({"norm.py": NORM, "train.py": USER})
    files = {"norm.py": NORM, "train.py": USER, "other.py": USER + NEWER}
    assert not is_global(files)
    assert [file.path for file in plan(files).files if file.changed] == ["norm.py"]
    reasons = {array.reason for site in plan(files).sites for array in site.outputs}
    assert reasons == {"the mapped function may be used in other.py, which this Python cannot parse"}


@pytest.mark.parametrize(
    "other",
    [
        "import norm\n\nfor name in dir(norm):\n    print(getattr(norm, name))\n",
        "from norm import *\n\nprint(globals())\n",
        "import importlib\n\nprint(importlib.import_module('norm').normalise)\n",
        "import train\n\nprint(train.norm.normalise)\n",
    ],
)
def test_ways_to_come_by_a_name(other: str) -> None:
    assert not is_global({"norm.py": NORM, "train.py": USER, "other.py": other + NEWER})


def test_a_variable_of_a_module() -> None:
    found = plan({"norm.py": NORM, "train.py": USER, "other.py": "import train\n\nprint(train.state)\n" + NEWER})
    (site,) = found.sites
    (argument,), (output,) = site.arguments, site.outputs
    assert (argument.layout, output.layout) == ("replicated", "stacked")
    assert output.reason == "may be used in other.py, which this Python cannot parse"


def test_attributes_of_its_objects() -> None:
    assert is_global({"norm.py": NORM + HOLDER, "train.py": ATTRIBUTE})
    other = "import train\n\nprint(train.holder.state)\n"
    assert not is_global({"norm.py": NORM + HOLDER, "train.py": ATTRIBUTE, "other.py": other + NEWER})


@pytest.mark.parametrize(
    "other",
    [
        USER + "\n\nelse:\n",  # a mistake: no Python runs it
        USER.replace("norm", "enorm") + NEWER,  # of another module
        "import norm\n\nprint(norm.__doc__)\n" + NEWER,
    ],
)
def test_a_file_that_has_no_part_keeps_nothing(other: str) -> None:
    assert is_global({"norm.py": NORM, "train.py": USER, "other.py": other})


@pytest.mark.parametrize(
    ("text", "newer"),
    [
        ("class A[T]: ...\n", True),
        ("async def f[T](x: T): ...\n", True),
        ("type A = int\n", True),
        ("try:\n    f()\nexcept ValueError, TypeError:\n    pass\n", True),
        ("print(f'{x['a']}')\n", sys.version_info < (3, 12)),
        ("t'{x}'\n", True),
        ("type = 3\nclass A:\n    pass\nelse:\n", False),
        ("print 3\n", False),
        ("x = \0\n", False),
    ],
)
def test_what_a_later_python_may_parse(text: str, newer: bool) -> None:
    assert may_be_newer(text) is newer
