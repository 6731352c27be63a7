"""Parameters that are split over the axis of the batches while the batch is replicated."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), ({axis!r},))
"""


def found(text: str, axis: str = "data") -> list[tuple[str, int]]:
    """The codes of what is found in a module, with the lines of its text."""
    source = decode((PRELUDE.format(axis=axis) + text).encode(), "a.py", None)
    lines = PRELUDE.count("\n")
    return [(one.code, one.line - lines) for one in lint([source], Config()) if one.code in ("JM107", "JM112")]


OF_PARAMETERS = """\
def step(params, x):
    return lax.pmean(x @ params, {axis!r})
f = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=({first}, {second}), out_specs=P(), check_vma=False))
"""
OF_CALLS = """\
def parallel(model):
    def run(params, batch):
        if mesh.size > 1:
            apply = jax.shard_map(model, mesh=mesh, in_specs=({first}, {second}), out_specs=P())
        else:
            apply = model
        return apply(params, batch)
    return jax.jit(run)
"""
OF_JIT = """\
def step(params, x):
    return x @ params
f = jax.jit(step, in_shardings=(NamedSharding(mesh, {first}), NamedSharding(mesh, {second})))
"""


@pytest.mark.parametrize(("program", "line"), [(OF_PARAMETERS, 3), (OF_CALLS, 4), (OF_JIT, 3)])
@pytest.mark.parametrize(
    ("axis", "first", "second", "told"),
    [
        ("data", "P('data')", "P()", True),
        ("data", "P()", "P('data')", False),
        ("data", "P('data')", "P('data')", False),  # every device its own, or fully sharded
        ("model", "P('model')", "P()", False),  # tensor parallel
    ],
)
def test_batches_are_split_and_not_parameters(
    program: str, line: int, axis: str, first: str, second: str, told: bool
) -> None:
    """The axis is for batches by its name, one tree is split over it, and no batch is."""
    text = program.format(axis=axis, first=first, second=second)
    assert found(text, axis) == ([("JM112", line)] if told else [])


@pytest.mark.parametrize(("axes", "told"), [("(0, None)", True), ("(None, 0)", False), ("(0, 0)", False)])
def test_in_axes_are_told_as_well(axes: str, told: bool) -> None:
    """A pmap over an axis that is called after batches."""
    text = f"""\
def step(params, batch):
    return params - lax.pmean(batch.mean(0), "data")
f = jax.pmap(step, axis_name="data", in_axes={axes})
"""
    assert found(text) == ([("JM112", 3)] if told else [])


@pytest.mark.parametrize(("axes", "told"), [("(0, 0, 0, None)", False), ("(0, 0, None, None)", True)])
def test_what_is_mapped_beside_parameters_may_be_the_batch(axes: str, told: bool) -> None:
    """Whatever it is called, and be a sample replicated; keys are none."""
    text = f"""\
def render(variables, rng, rays, sample):
    return lax.pmean(rays @ variables, "data")
f = jax.pmap(render, axis_name="data", in_axes={axes})
"""
    assert found(text) == ([("JM112", 3)] if told else [])


def test_what_is_mapped_beside_parameters_and_replicated_is_no_batch() -> None:
    text = """\
from flax import jax_utils
def step(state, camera, batch):
    return state - lax.pmean(jax.grad(lambda p: ((batch @ p) * camera).sum())(state), "batch")
f = jax.pmap(step, axis_name="batch", in_axes=(0, 0, None))
def main(state, camera, batch):
    state, camera = jax_utils.replicate(state), jax_utils.replicate(camera)
    for _ in range(3):
        state = f(state, camera, batch)
    return state
"""
    assert found(text, "batch") == [("JM112", 4)]


def test_members_of_an_ensemble_share_their_batch() -> None:
    """Each member has parameters of its own: that is what its axis is for."""
    text = """\
def step(params, batch):
    return params - batch.mean(0)
f = jax.pmap(step, axis_name="member", in_axes=(0, None))
"""
    assert found(text) == []


def test_a_shard_map_on_one_of_two_ways_is_counted() -> None:
    """What it is called with on the other way, it is called with on this."""
    assert found(OF_CALLS.format(first="P()", second="P('data')").replace("apply(params, batch)", "apply(batch)")) == [
        ("JM107", 4)
    ]


OF_JIT = """\
class Partitioner:
    def __init__(self):
        self.data_sharding = NamedSharding(mesh, P("data"))
        self.state_sharding = NamedSharding(mesh, P())
    def partition(self, fn):
        step = jax.jit(fn, in_shardings=({ins}), out_shardings=({outs}))
        def run(batch, state):
            state, metrics = step(batch, state)
            return state, metrics
        return run
"""
DATA, STATE = "self.data_sharding", "self.state_sharding"


@pytest.mark.parametrize(
    ("ins", "outs", "told"),
    [
        (f"{DATA}, {STATE}", f"{STATE}, None", []),
        (f"{STATE}, {DATA}", f"{STATE}, None", [("JM112", 6)]),
        (f"{DATA}, {STATE}", f"None, {STATE}", [("JM112", 6)]),
        (f"{DATA}, None", f"{STATE}, {STATE}", []),
        ("None, None", f"{STATE}, None", []),
    ],
)
def test_shardings_of_a_function_that_is_passed(ins: str, outs: str, told: list[tuple[str, int]]) -> None:
    """The calls of what jit makes say what the shardings are for."""
    assert found(OF_JIT.format(ins=ins, outs=outs)) == told
