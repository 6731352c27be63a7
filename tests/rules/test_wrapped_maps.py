"""Maps within functions that wrappers return, and axes that objects hold and get by `replace`."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import dataclasses
import functools
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""


def found(text: str) -> list[tuple[str, int]]:
    """The codes of what is found in a module, with the lines of its text."""
    source = decode((PRELUDE + text).encode(), "a.py", None)
    lines = PRELUDE.count("\n")
    return [(one.code, one.line - lines) for one in lint([source], Config()) if not one.code.startswith(("JM4", "JM5"))]


WRAPPERS = {
    "a closure over a pmap": """\
def parallel(f, axis):
    mapped = jax.pmap(f, axis)
    def run(*args):
        return mapped(*[a.reshape(8, -1) for a in args])
    return run
""",
    "a pmap in the closure": """\
def parallel(f, axis):
    def run(*args):
        return jax.pmap(f, axis_name=axis)(*args)
    return run
""",
    "a shard_map under jit": """\
def parallel(f, axis):
    mesh = Mesh(jax.devices(), (axis,))
    mapped = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P(), P(axis)), out_specs=P(), check_vma=False))
    return lambda params, x: mapped(params, jnp.asarray(x))
""",
}
STEP = """\
def step(params, x):
    grads = jax.grad(lambda p: jnp.mean((x @ p) ** 2))(params)
    {reduce}
    return params - 0.1 * grads
update = parallel(step, "i")
"""


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize(
    ("reduce", "codes"),
    [("pass", ["JM201"]), ("grads = lax.pmean(grads, 'i')", []), ("grads = lax.pmean(grads, 'j')", ["JM101"])],
)
def test_what_a_wrapper_maps_is_read(wrapper: str, reduce: str, codes: list[str]) -> None:
    """A function that a wrapper maps inside of another function runs over the wrapper's axis."""
    assert sorted({code for code, _ in found(wrapper + STEP.format(reduce=reduce))}) == codes


def test_what_a_wrapper_passes_on_is_not_what_it_is_given() -> None:
    """One key for all devices is right where the wrapper splits it before the map gets it."""
    text = """\
def parallel(f):
    mapped = jax.pmap(f, "i")
    def run(params, x, key):
        return mapped(params, x, jax.random.split(key, jax.device_count()))
    return run
def step(params, x, key):
    noise = jax.random.normal(key, x.shape)
    return lax.pmean(params * jnp.mean(x + noise), "i")
update = parallel(step)
def train(params, x):
    key = jax.random.key(0)
    return update(params, x, key)
"""
    assert found(text) == []


TRAINER = """\
@dataclasses.dataclass(frozen=True)
class Trainer:
    loss: object
    axis: str | None = None

    def step(self, params, x):
        value, grads = jax.value_and_grad(self.loss)(params, x)
        if self.axis is not None:
            grads = {reduce}
        return params - grads

    def over(self, axis):
        return dataclasses.replace(self, axis=axis)

    def compiled(self):
        return jax.pmap(self.step, axis_name=self.axis) if self.axis is not None else jax.jit(self.step)

def loss(params, x):
    count = lax.psum(1.0, {axis!r})
    return jnp.sum(x * params) / count

trainer = Trainer(loss).over("batch")
"""


@pytest.mark.parametrize(("axis", "codes"), [("batch", []), ("device", [("JM101", 19)]), ("batches", [("JM101", 19)])])
def test_an_axis_that_replace_sets_is_known(axis: str, codes: list[tuple[str, int]]) -> None:
    """Nothing but `over("batch")` gives the field a name, so no map of the program binds another."""
    assert found(TRAINER.format(reduce="lax.pmean(grads, self.axis)", axis=axis)) == codes


def test_a_collective_in_a_lambda_is_guarded_by_the_condition_around_it() -> None:
    """A function that is made where an axis is set does not run where none is."""
    cond = "lax.cond(jnp.all(params > 0), lambda g: lax.pmean(g, self.axis), lambda g: lax.pmean(g, self.axis), grads)"
    assert found(TRAINER.format(reduce=cond, axis="batch")) == []


def test_a_field_that_is_given_what_is_out_of_sight_is_not_known() -> None:
    """What a caller elsewhere may pass, any map may bind."""
    text = TRAINER.format(reduce="lax.pmean(grads, self.axis)", axis="device")
    assert found(text.replace('.over("batch")', ".over(input())")) == []


CONFIGURED = """\
config = dict(data_axis="data")
class Options:
    def __init__(self, **given):
        self.__dict__.update(given)
options = Options(data_axis="data")
mesh = Mesh(jax.devices(), (options.data_axis,))
def total(x):
    return lax.psum(x, {axis!r})
f = jax.jit(jax.shard_map(total, mesh=mesh, in_specs=P(options.data_axis), out_specs=P()))
"""


@pytest.mark.parametrize(("axis", "codes"), [("data", []), ("batch", [("JM101", 8)])])
def test_an_axis_in_a_configuration_without_a_class_is_known(axis: str, codes: list[tuple[str, int]]) -> None:
    """Every keyword of the name gives one text."""
    assert found(CONFIGURED.format(axis=axis)) == codes


MESHES = """\
def make_mesh(devices):
    return Mesh(devices, ("gpus",))
def run(x, mesh):
    return jax.device_put(x, NamedSharding(mesh, P({axis!r})))
def main(x):
    platform = jax.devices("gpu")
    return run(x, make_mesh(platform))
"""


@pytest.mark.parametrize(("axis", "codes"), [("gpus", []), ("gpu", [("JM102", 4)])])
def test_a_mesh_of_a_function_of_the_project_is_its_own(axis: str, codes: list[tuple[str, int]]) -> None:
    """A parameter that every caller gives what a function makes has the axes of the project's meshes."""
    assert found(MESHES.format(axis=axis)) == codes
