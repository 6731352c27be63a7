"""Faults behind objects and calls: axes that an object holds, functions that one is given, and their repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """
import dataclasses
from functools import partial
from typing import Callable
import equinox as eqx
import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
"""
MESH = 'mesh = Mesh(jax.devices(), ("data",))\n'
MAP = "jax.jit(jax.shard_map({step}, mesh={mesh}, {specs}))"
AXES = {  # where the axis is kept; `AXIS` in them is what says it
    "dataclass": "@dataclasses.dataclass\nclass Op:\n    mesh: Mesh\n    axis: str = 'data'\n    def build(self):\n"
    "        def step(w, x):\n            {body}\n        return "
    + MAP.format(step="step", mesh="self.mesh", specs="{specs}"),
    "field with options": "class Op(eqx.Module):\n    mesh: Mesh\n"
    "    axis: str = eqx.field(static=True, default='data')\n"
    "    def step(self, w, x):\n        {body}\n    def build(self):\n        return "
    + MAP.format(step="self.step", mesh="self.mesh", specs="{specs}"),
    "beside another axis": "def total(x):\n    return x.sum(axis=0)\n"
    "@dataclasses.dataclass\nclass Op:\n    mesh: Mesh\n"
    "    axis: str = 'data'\n    def build(self):\n        def step(w, x):\n            {body}\n        return "
    + MAP.format(step="step", mesh="self.mesh", specs="{specs}"),
    "the mesh's only one": "def build(mesh):\n    axis = mesh.axis_names[0]\n    def step(w, x):\n        {body}\n"
    "    return " + MAP.format(step="step", mesh="mesh", specs="{specs}") + "\n" + MESH + "f = build(mesh)",
}
STEP = "def step(w, x):\n    {body}\n"
MAPPED = MAP.format(step="{step}", mesh="mesh", specs="{{specs}}")
CALLS = {  # how the function at fault is called
    "parameter": STEP + MESH + "def build(fn):\n    def run(w, x):\n        return fn(w, x)\n    return "
    + MAPPED.format(step="run") + "\nf = build(step)",
    "kept by a constructor": STEP + MESH + "class Op:\n    def __init__(self, fn):\n        self.fn = fn\n"
    "    def run(self, w, x):\n        return self.fn(w, x)\nf = " + MAPPED.format(step="Op(step).run"),
    "kept in a field": STEP + MESH + "@dataclasses.dataclass\nclass Op:\n    fn: Callable\n    def run(self, w, x):\n"
    "        return self.fn(w, x)\nop = Op(fn=step)\nf = " + MAPPED.format(step="op.run"),
    "one of two": STEP + "def other(w, x):\n    {body}\n" + MESH + "def build(fn):\n    def run(w, x):\n"
    "        return fn(w, x)\n    return " + MAPPED.format(step="run") + "\nf = build(step)\ng = build(other)",
    "stars": STEP + MESH + "def run(*arrays):\n    return step(*arrays)\nf = " + MAPPED.format(step="run"),
    "lambda with stars": STEP + MESH + "f = " + MAPPED.format(step="lambda *arrays: step(*arrays)"),
    "equinox's jit": MESH + "@eqx.filter_jit\n" + STEP + "f = " + MAPPED.format(step="step"),
    "equinox's module": "class Op(eqx.Module):\n    size: int\n    def __call__(self, w, x):\n        {body}\n"
     "op = Op(3)\n" + MESH + "def run(w, x):\n    return op(w, x)\nf = " + MAPPED.format(step="run"),
}  # fmt: skip
IN, OUT = "in_specs=(P(), P(AXIS))", "out_specs=P()"
LOSS = "jax.grad(lambda w: ((x @ w) ** 2).mean())(w)"
FAULTS = {  # the body, its repair, specs
    "JM201": (f"return w - {LOSS}", f"return w - lax.pmean({LOSS}, AXIS)", f"{IN}, {OUT}, check_vma=False"),
    "JM202": (
        "return lax.psum(lax.pmean(x @ w, AXIS), AXIS)",
        "return lax.psum(x @ w, AXIS)",
        f"{IN}, {OUT}, check_vma=False",
    ),
    "JM205": (
        "return x + jax.random.normal(w, x.shape)",
        "return x + jax.random.normal(jax.random.fold_in(w, lax.axis_index(AXIS)), x.shape)",
        f"{IN}, out_specs=P(AXIS)",
    ),
    "JM207": (
        "return lax.psum(((x @ w) ** 2).mean(), AXIS)",
        "return lax.pmean(((x @ w) ** 2).mean(), AXIS)",
        f"{IN}, {OUT}",
    ),
    "JM301": (
        "return lax.cond((x @ w).sum() > 0, lambda v: lax.psum(v, AXIS), lambda v: v, x)",
        "return lax.cond(lax.psum((x @ w).sum(), AXIS) > 0, lambda v: lax.psum(v, AXIS), lambda v: v, x)",
        f"{IN}, out_specs=P(AXIS), check_vma=False",
    ),
}


def codes(text: str) -> set[str]:
    source = decode((PRELUDE + text).encode(), "a.py", Path("/project/a.py"))
    return {finding.code for finding in lint([source], Config()) if finding.code < "JM4"}


@pytest.mark.parametrize("code", FAULTS)
@pytest.mark.parametrize("form", AXES)
def test_axes_that_an_object_holds(form: str, code: str) -> None:
    fault, repair, specs = FAULTS[code]
    axis = "self.axis" if "self" in AXES[form] else "axis"
    assert code in codes(AXES[form].format(body=fault, specs=specs).replace("AXIS", axis))
    assert codes(AXES[form].format(body=repair, specs=specs).replace("AXIS", axis)) == set()


@pytest.mark.parametrize("code", FAULTS)
@pytest.mark.parametrize("form", CALLS)
def test_functions_that_others_call(form: str, code: str) -> None:
    fault, repair, specs = FAULTS[code]
    assert code in codes(CALLS[form].format(body=fault, specs=specs).replace("AXIS", "'data'"))
    assert codes(CALLS[form].format(body=repair, specs=specs).replace("AXIS", "'data'")) == set()


def test_a_function_that_reduces_is_one_of_those_passed() -> None:
    """Where one of two functions reduces, nothing is told of the map that calls either."""
    one = "def one(w, x):\n    return lax.pmean((x @ w).mean(), 'data')\n"
    text = CALLS["one of two"].format(body="return (x @ w).mean()", specs=f"{IN}, {OUT}, check_vma=False")
    text = text.replace("AXIS", "'data'")
    assert codes(text) == {"JM201"}
    assert codes(one + text.replace("build(other)", "build(one)")) == set()


def test_an_axis_that_may_be_none_is_no_other_axis() -> None:
    """Of two fields it is not known that they are one axis."""
    fields = (
        "@dataclasses.dataclass\nclass Op:\n    mesh: Mesh\n    axis: str\n    model_axis: str\n    def build(self):\n"
    )
    body = "        def step(x):\n            return lax.psum(x, self.model_axis)\n"
    specs = "in_specs=P(self.axis), out_specs=P(self.axis), check_vma=False"
    assert codes(fields + body + "        return " + MAP.format(step="step", mesh="self.mesh", specs=specs)) == set()


@pytest.mark.parametrize("form", CALLS)
def test_axes_that_are_not_bound_where_a_function_is_called(form: str) -> None:
    """An axis by a wrong name is found wherever the function is kept on its way to the map."""
    fault, repair = "return lax.psum(x @ w, 'dta')", "return lax.psum(x @ w, 'data')"
    specs = f"{IN}, {OUT}".replace("AXIS", "'data'")
    assert "JM101" in codes(CALLS[form].format(body=fault, specs=specs))
    assert codes(CALLS[form].format(body=repair, specs=specs)) == set()
