"""What lint follows through the body of a map to what leaves it: fields, constants on some ways, maps of libraries."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import jax
import jax.numpy as jnp
import optax
import equinox as eqx
from flax import nnx
from functools import partial
from jax import lax
tx = optax.adam(1e-3)
"""
REDUCED = 'lax.pmean(metrics, "batch")'


def codes(text: str) -> list[str]:
    """The codes of what is found in a module about reductions."""
    source = decode((PRELUDE + text).encode(), "a.py", None)
    return sorted({one.code for one in lint([source], Config()) if one.code.startswith("JM2")})


METRICS = """\
def train_step(params, opt_state, batch, cfg):
    def loss_fn(p):
        {loss}
        return loss
    loss, grads = jax.value_and_grad(loss_fn)(params)
    grads = lax.pmean(grads, "batch")
    updates, opt_state = tx.update(grads, opt_state)
    metrics = {{"loss": loss}}
    return optax.apply_updates(params, updates), opt_state, {metrics}
train = jax.pmap(train_step, axis_name="batch", static_broadcasted_argnums=3)
def run(params, opt_state, batches, cfg):
    for batch in batches:
        params, opt_state, metrics = train(params, opt_state, batch, cfg)
        print(jax.device_get(jax.tree.map(lambda x: x[0], metrics)))
    return params
"""
LOSSES = {
    "on some ways": [
        "loss = 0.0",
        "if cfg.hard:",
        "    loss += jnp.mean((batch['x'] @ p) ** 2)",
    ],
    "from a constant array": [
        "loss = jnp.zeros(())",
        "if cfg.hard:",
        "    loss = loss + jnp.mean((batch['x'] @ p) ** 2)",
    ],
    "in an expression": ["loss = jnp.mean((batch['x'] @ p) ** 2) if cfg.hard else 0.0"],
    "in a loop": [
        "loss = 0",
        "for w in p:",
        "    loss = loss + jnp.mean((batch['x'] @ w) ** 2)",
    ],
    "returned by one way": [
        "def of(w):",
        "    if not cfg.hard:",
        "        return 0.0",
        "    return jnp.mean((batch['x'] @ w) ** 2)",
        "loss = of(p)",
    ],
    "chosen by lax.cond": [
        "loss = lax.cond(cfg.step > 3, lambda: jnp.mean((batch['x'] @ p) ** 2), lambda: 0.0)",
    ],
    "by a library's function or an own one": [
        "reduce_op = jnp.mean if cfg.average else lambda x: 0.5 * jnp.sum(x)",
        "loss = reduce_op((batch['x'] @ p) ** 2)",
    ],
    "by one that a condition chooses": [
        "total = jnp.mean",
        "if cfg.summed:",
        "    def total(x):",
        "        return 0.5 * jnp.sum(x)",
        "loss = jnp.sqrt(total((batch['x'] @ p) ** 2))",
    ],
    "under equinox's vmap": ["loss = jnp.mean(eqx.filter_vmap(lambda row: jnp.square(row @ p))(batch['x']))"],
    "under nnx's vmap": ["loss = jnp.mean(nnx.vmap(lambda row: jnp.square(row @ p), in_axes=0)(batch['x']))"],
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_followed_to_where_one_device_is_read(name: str) -> None:
    """A loss that is a constant on some ways is a device's own on the others."""
    loss = "\n        ".join(LOSSES[name])
    assert codes(METRICS.format(loss=loss, metrics="metrics")) == ["JM208"]
    assert codes(METRICS.format(loss=loss, metrics=REDUCED)) == []


def test_a_metric_that_is_reduced_on_some_ways_is_left_alone() -> None:
    """What a condition reduces was thought of: it is likely to ask whether there are devices to reduce over."""
    loss = "loss = jnp.mean((batch['x'] @ p) ** 2)"
    text = METRICS.format(loss=loss, metrics="metrics")
    way = f'    metrics = {{"loss": loss}}\n    if cfg.many:\n        metrics = {REDUCED}\n'
    assert codes(text.replace('    metrics = {"loss": loss}\n', way)) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("out_axes=None", True),
        ("in_axes=None, out_axes=None", False),
        ("in_axes=(None,), out_axes=None", False),
        ("out_axes=None, axis_size=1", False),
    ],
)
def test_equinox_maps_over_nothing_as_well(options: str, told: bool) -> None:
    """`in_axes=None` gives all devices the same, and one device alone has nothing to differ from."""
    text = f"f = eqx.filter_pmap(lambda x: jnp.sin(x), {options})\n"
    assert codes(text) == (["JM201"] if told else [])


FIELDS = """\
def evaluate(params, batch):
    found = compute(params, batch)
    {reduce}
    return lax.pmean({value}, "batch")
evaluate = jax.pmap(evaluate, axis_name="batch")
def compute(params, batch):
    return eqx.combine(params, batch)
"""


@pytest.mark.parametrize(
    "value", ["jnp.mean(found.loss)", "jnp.clip(found.inner.loss, 0.0, 1.0)", "jax.nn.relu(found.x)"]
)
def test_fields_are_arrays_to_functions_of_arrays(value: str) -> None:
    """What stands behind a dot may be a method, but none that a function of arrays would take."""
    assert codes(FIELDS.format(value=value, reduce='found = lax.pmean(found, "batch")')) == ["JM202"]
    assert codes(FIELDS.format(value=value, reduce="pass")) == []


EQUINOX = """\
{decorator}
def update(params, opt_state, x):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p) ** 2))(params)
    {reduce}
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss
"""


@pytest.mark.parametrize(
    "decorator",
    [
        '@partial(eqx.filter_pmap, in_axes=(None, None, 0), axis_name="batch")',
        '@eqx.filter_pmap(axis_name="batch")',
    ],
)
def test_equinox_maps_over_devices_as_well(decorator: str) -> None:
    """`filter_pmap` is a pmap that tells arrays from other arguments."""
    assert codes(EQUINOX.format(decorator=decorator, reduce="pass")) == ["JM201"]
    assert codes(EQUINOX.format(decorator=decorator, reduce='grads = lax.pmean(grads, "batch")')) == []


APPLIED = """\
import opax
def make(optimize_fn, actor_update):
    def step(params, opt_state, state, batch):
        grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
        {reduce}
        return {applied}
    return jax.pmap(step, axis_name="batch")
train = make(load("optimizer"), load("update"))
"""


@pytest.mark.parametrize(
    "applied",
    [
        "optimize_fn(grads, opt_state, params)",
        "actor_update(grads, opt_state)",
        "opax.apply_gradients(params, opt_state, grads=grads)",
        "state.apply_gradients_d(grads=grads)",
        "state.update_gradients(grads_and_values=(grads, batch))",
        "state.apply_gradients(grads_and_values=(grads, batch))",
        "state.actor.apply_grads(grads)",
    ],
)
def test_what_applies_gradients_may_have_any_name_of_its_kind(applied: str) -> None:
    """A training state with two optimizers, an optimizer's function by itself, and a library that is not known."""
    assert codes(APPLIED.format(applied=applied, reduce="pass")) == ["JM201"]
    assert codes(APPLIED.format(applied=applied, reduce='grads = lax.pmean(grads, "batch")')) == []


@pytest.mark.parametrize("applied", ["ema_update(params, batch)", "grads", "state.log_gradients(grads)"])
def test_what_applies_no_gradients_is_left_alone(applied: str) -> None:
    """Gradients that are given back, or logged, may be summed on the host."""
    assert codes(APPLIED.format(applied=applied, reduce="pass")) == []


def test_an_own_function_that_reduces_is_none_that_is_missing_a_reduction() -> None:
    """A function of the program of that name is what is likely to be called."""
    own = 'def apply_grads(state, grads):\n    return state - lax.pmean(grads, "batch")\n'
    text = APPLIED.format(applied="state.apply_grads(grads)", reduce="pass")
    assert codes(own + text) == []


STATIC = """\
@partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(2, 3))
def train_step(state, batch, model, loss_fn):
    loss, grads = jax.value_and_grad(loss_fn)(state.params, model, batch)
    {reduce}
    return state.apply_gradients(grads=grads), loss
"""


def test_a_loss_may_be_a_static_argument() -> None:
    """What is differentiated is a loss by its name, though nothing says which."""
    assert codes(STATIC.format(reduce="pass")) == ["JM201"]
    assert codes(STATIC.format(reduce='grads = lax.pmean(grads, "batch")')) == []


GIVEN_BACK = """\
@partial(jax.pmap, in_axes=(None, 0), out_axes=None, axis_name="devices")
def grad_fn(params, graph):
    loss, grads = jax.value_and_grad(lambda p: jnp.sum(jnp.square(graph.nodes @ p)))(params)
    return lax.psum(loss, "devices"), {grads}
"""


def test_gradients_are_given_back_as_if_all_devices_had_them() -> None:
    """`out_axes=None` takes device 0's."""
    assert codes(GIVEN_BACK.format(grads="grads")) == ["JM201"]
    assert codes(GIVEN_BACK.format(grads='lax.psum(grads, "devices")')) == []


WAYS = """\
def make(weighted):
    if weighted:
        def step(params, batch):
            grads = jax.grad(lambda p: jnp.mean(batch["w"] * (batch["x"] @ p) ** 2))(params)
            return params - 0.1 * {first}
    else:
        def step(params, batch):
            grads = jax.grad(lambda p: jnp.mean((batch["x"] @ p) ** 2))(params)
            return params - 0.1 * {second}
    return jax.pmap(step, axis_name="batch")
"""


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (True, True)])
def test_each_function_that_a_condition_defines_is_read(first: bool, second: bool) -> None:
    """Both are mapped, one at a time."""
    reduced = 'lax.pmean(grads, "batch")'
    text = WAYS.format(first=reduced if first else "grads", second=reduced if second else "grads")
    assert codes(text) == ([] if first and second else ["JM201"])


ABSTRACT = """\
class Experiment:
    def __init__(self, tx):
        self.tx = tx
        self.p_step = jax.pmap(self.step, axis_name="batch")
    def loss_fn(self, params, batch):
        {empty}
    def step(self, params, opt_state, batch):
        loss, grads = jax.value_and_grad(self.loss_fn)(params, batch)
        {reduce}
        updates, opt_state = self.tx.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, lax.pmean(loss, "batch")
class Regression(Experiment):
    def loss_fn(self, params, batch):
        return jnp.mean((batch["x"] @ params) ** 2)
class Robust(Experiment):
    def loss_fn(self, params, batch):
        return jnp.mean(jnp.abs(batch["x"] @ params))
"""


@pytest.mark.parametrize("empty", ["raise NotImplementedError", "pass", "..."])
def test_a_method_that_a_class_leaves_to_others_is_read_as_they_have_it(empty: str) -> None:
    """The base's own gives nothing, and is never called."""
    assert codes(ABSTRACT.format(empty=empty, reduce="pass")) == ["JM201"]
    assert codes(ABSTRACT.format(empty=empty, reduce='grads = lax.pmean(grads, "batch")')) == []
