"""Maps of what a program's own functions and decorators are given, and functions whose code is not in sight."""

from __future__ import annotations

import textwrap

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import functools
import jax
import optax
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
from elsewhere import losses, metrics, collective
def mse(p, b): return ((b @ p) ** 2).mean()
"""


def found(text: str) -> set[str]:
    """The codes of what is found about axes and reductions."""
    compile(text, "a.py", "exec")
    codes = {one.code for one in lint([decode((PRELUDE + text).encode(), "a.py", None)], Config())}
    return {code for code in codes if code.startswith(("JM1", "JM2", "JM3"))}


STEP = """\
def step(state, batch):
    loss, grads = jax.value_and_grad(mse)(state.params, batch)
    {body}
    return state.apply_gradients(grads=grads), loss[None]
"""
METHOD = textwrap.indent(STEP.replace("(state,", "(self, state,"), "    ")
TWO = "other = jax.pmap(lambda x: lax.psum(x, 'other'), axis_name='other')\n"
WAYS = {
    "a method that chooses": """\
class Trainer:
    def __init__(self, many):
        self.many = many
        self.run = self.pmap(self.step, donate_argnums=(0,))
    def pmap(self, fn, **options):
        if self.many:
            return jax.pmap(fn, axis_name="i", **options)
        return jax.jit(fn, **options)
"""
    + METHOD,
    "a method of another object": """\
class Devices:
    def __init__(self, axis): self.axis = axis
    def on_all(self, fn, name): return jax.jit(jax.pmap(fn, axis_name=name))
class Trainer:
    def __init__(self, devices):
        self.devices = devices
        self.run = self.devices.on_all(self.step, "i")
"""
    + METHOD,
    "a shard_map of another object": """\
class Devices:
    def __init__(self, mesh): self.mesh = mesh
    def on_all(self, fn, specs, out):
        return jax.jit(jax.shard_map(fn, mesh=self.mesh, in_specs=specs, out_specs=out, check_vma=False))
def main():
    devices = Devices(Mesh(jax.devices(), ("i",)))
    return devices.on_all(step, (P(), P("i")), (P(), P("i")))
"""
    + STEP,
    "a decorator that keeps the map": """\
def mapped(axis, donate=()):
    def decorate(fn):
        @functools.wraps(fn)
        def inner(self, *args):
            if not hasattr(self, "_mapped"):
                self._mapped = jax.pmap(functools.partial(fn, self), axis_name=axis, donate_argnums=donate)
            return self._mapped(*args)
        return inner
    return decorate
class Trainer:
    @mapped("i")
"""
    + METHOD,
    "an object around a function": """\
class Parallel:
    def __init__(self, fn, axis="i"):
        self.mapped = jax.pmap(fn, axis_name=axis)
    def __call__(self, *args):
        return self.mapped(*args)
@Parallel
"""
    + STEP,
    "a method of the function's class": """\
class Function:
    def __call__(self, state, batch):
        raise NotImplementedError
    def pmap(self, axis, **options):
        return jax.pmap(self.__call__, axis_name=axis, **options)
class Step(Function):
"""
    + METHOD.replace("step(", "__call__(")
    + 'run = Step().pmap("i")\n',
    "a method left to others": """\
class Base:
    axis = "i"
    def compile(self):
        self.run = jax.pmap(self.step, axis_name=self.axis)
    def step(self, state, batch):
        \"\"\"For others.\"\"\"
        raise NotImplementedError
class Trainer(Base):
"""
    + METHOD,
}
FAULTS = [
    ("pass", {"JM201"}),
    ("grads = lax.pmean(grads, 'i')", set()),
    ("grads = lax.pmean(grads, 'other')", {"JM101"}),
    ("grads = lax.pmean(lax.pmean(grads, 'i'), 'i')", {"JM202"}),
]


@pytest.mark.parametrize(("body", "codes"), FAULTS, ids=[body for body, _ in FAULTS])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_a_function_is_given_to_map_is_read(way: str, body: str, codes: set[str]) -> None:
    """A fault is told where it stands, whatever maps the function that it stands in."""
    assert found(TWO + way.format(body=body)) == codes


OBJECT = """\
class Trainer:
    def __init__(self, model, tx, loss_fn, reducer, sync=None):
        self.model, self.tx, self.loss_fn, self.reducer = model, tx, loss_fn, reducer
        self.all = collective.chain(collective.over("i"), tx)
        self.run = jax.pmap(self.step, axis_name="i")
        self.eval = jax.pmap(self.test, axis_name="i", out_axes=None)
    def step(self, state, batch):
        {body}
        updates, opt = {tx}.update(grads, state.opt, state.params)
        return optax.apply_updates(state.params, updates), opt
    def test(self, state, batch):
        return {returned}
"""
PLAIN = {
    "body": "grads = lax.pmean(jax.grad(mse)(state.params, batch), 'i')",
    "tx": "self.tx",
    "returned": "state.t",
}


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({}, set()),
        ({"body": "grads = jax.grad(self.loss_fn)(state.params, batch)"}, {"JM201"}),
        ({"body": "grads = jax.grad(losses.main_loss)(state.params, batch)"}, {"JM201"}),
        ({"body": "grads = metrics.clipped(jax.grad(mse)(state.params, batch), 1.0)"}, {"JM201"}),
        ({"body": "grads = lax.pmean(metrics.clipped(lax.pmean(jax.grad(mse)(state.params, batch), 'i')), 'i')"},
         {"JM202"}),
        ({"returned": "metrics.accuracy(self.model.apply(state.params, batch), batch)"}, {"JM201"}),
        # what may reduce: by its name, by an axis that it is given or was made with, by a function that it is given
        ({"body": "grads = collective.average(jax.grad(mse)(state.params, batch))"}, set()),
        ({"body": "grads = self.reducer(jax.grad(mse)(state.params, batch))"}, set()),
        ({"body": "grads = metrics.clipped(jax.grad(mse)(state.params, batch), over='i')"}, set()),
        ({"body": "grads = metrics.through(lambda g: lax.pmean(g, 'i'), jax.grad(mse)(state.params, batch))"}, set()),
        ({"body": "grads = jax.grad(mse)(state.params, batch)", "tx": "self.all"}, set()),
        ({"body": "grads = metrics.train_step(jax.grad(mse)(state.params, batch))"}, set()),
        ({"returned": "metrics.accuracy(self.model.apply(state.params, batch), batch, 'i')"}, set()),
        ({"returned": "metrics.make()(state.params, batch)"}, set()),
        ({"body": "grads = metrics.clipping(1.0)(jax.grad(mse)(state.params, batch))"}, set()),
    ],
)  # fmt: skip
def test_what_knows_no_axis_reduces_nothing(changed: dict[str, str], codes: set[str]) -> None:
    """Code that is not in sight may reduce where something named in its call may know the axis, and nowhere else."""
    assert found(OBJECT.format(**{**PLAIN, **changed})) == codes


def test_a_function_that_is_passed_computes_a_loss() -> None:
    """What comes as an argument may be any function, unless its name says that it computes something."""
    text = """\
def make({name}, mesh):
    def run(params, batch):
        return {name}(params, batch)
    return jax.jit(jax.shard_map(run, mesh=mesh, in_specs=(P(), P("i")), out_specs=P(), check_vma=False))
def main(pick): return make(pick, Mesh(jax.devices(), ("i",)))
"""
    assert found(text.format(name="loss_fn")) == {"JM201"}
    assert found(text.format(name="fn")) == set()
