"""Where one device's metrics are read on the host: in many ways, by several functions; and what is no such reading."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """\
import operator
import jax
import jax.numpy as jnp
import numpy as np
import optax
tx = optax.adam(1e-3)
{helper}
def train_step(params, opt_state, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch["x"] @ p) ** 2))(params)
    updates, opt_state = tx.update(jax.lax.pmean(grads, "batch"), opt_state)
    return optax.apply_updates(params, updates), opt_state, {metrics}
train = jax.pmap(train_step, axis_name="batch")
def run(params, opt_state, batches):
    for batch in batches:
        params, opt_state, metrics = train(params, opt_state, batch)
        {read}
    return params
"""
UNREDUCED, REDUCED = '{"loss": loss}', 'jax.lax.pmean({"loss": loss}, "batch")'
READ = {
    "by subscripts": ("", "print(metrics['loss'][0, ...])"),
    "of its data": ("", "print(metrics['loss'].addressable_data(0))"),
    "of its shards": ("", "print(metrics['loss'].addressable_shards[0].data)"),
    "after ravel": ("", "print(metrics['loss'].ravel()[0])"),
    "from numpy": ("", "print(jax.tree.map(lambda x: np.asarray(x)[0], metrics))"),
    "by a getter": ("", "print(jax.tree.map(operator.itemgetter(0), metrics))"),
    "by get": ("", "loss = metrics.get('loss')\n        print(loss[0])"),
    "by pop": ("", "print(metrics.pop('loss')[0])"),
    "in a comprehension": ("", "print({k: float(v[0]) for k, v in metrics.items()})"),
    "in a loop": ("", "for k, v in metrics.items():\n            print(k, v[0].item())"),
    "by an own function": (
        "def local(tree):\n    return jax.tree.map(lambda a: jax.device_get(a[0]), tree)",
        "print(local(metrics))",
    ),
    "by an own function's name": ("local = lambda tree: jax.tree.map(lambda a: a[0], tree)", "print(local(metrics))"),
    "by an own function of leaves": ("def local(x):\n    return x[0]", "print(jax.tree.map(local, metrics))"),
    "by what logs": ("def log(step, scalars):\n    print(step, float(scalars['loss'][0]))", "log(0, metrics)"),
    "by what logs, by keyword": ("def log(*, scalars):\n    print(scalars['loss'][0])", "log(scalars=metrics)"),
    "two functions away": (
        "def local(tree):\n    return jax.tree.map(lambda a: a[0], tree)\ndef log(m):\n    m = local(m)\n    print(m)",
        "log(metrics)",
    ),
}
OTHERS = {
    "means": ("", "print(jax.tree.map(lambda x: x.mean(), metrics))"),
    "means in a loop": ("", "for k, v in metrics.items():\n            print(k, np.mean(v))"),
    "means, then logged": (
        "def log(m):\n    print(m['loss'][0])",
        "log(jax.tree.map(lambda x: x.mean(0)[None], metrics))",
    ),
    "means in what logs": (
        "def log(m):\n    m = jax.tree.map(lambda x: x.mean(0, keepdims=True), m)\n    print(m['loss'][0])",
        "log(metrics)",
    ),
    "its shape": ("", "print(metrics['loss'].shape[0])"),
    "each in turn": ("def log(m, i):\n    print(m['loss'][i])", "for i in range(8):\n            log(metrics, i)"),
    "others' first": ("def local(tree):\n    return jax.tree.map(lambda a: a[0], tree)", "print(local(params))"),
}


def told(text: str) -> bool:
    """Whether JM208 finds something in a program."""
    return any(one.code == "JM208" for one in lint([decode(text.encode(), "a.py", None)], Config()))


@pytest.mark.parametrize("name", READ)
def test_one_devices_metrics_are_read(name: str) -> None:
    """However it is written, device 0's loss is printed: wrong where nothing has averaged it, and right after pmean."""
    helper, read = READ[name]
    assert told(PROGRAM.format(helper=helper, read=read, metrics=UNREDUCED))
    assert not told(PROGRAM.format(helper=helper, read=read, metrics=REDUCED))


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_host_averages_is_left_alone(name: str) -> None:
    """All devices' values are read, or none."""
    helper, read = OTHERS[name]
    assert not told(PROGRAM.format(helper=helper, read=read, metrics=UNREDUCED))


METHODS = """\
import jax
import jax.numpy as jnp
def train_step(params, batch):
    return params, {{"loss": {loss}}}
class Trainer:
    def __init__(self):
        self.p_step = jax.pmap(train_step, axis_name="batch")
    def step(self, batch):
        {step}
    def run(self, batches):
        for batch in batches:
            {run}
"""


@pytest.mark.parametrize(
    ("step", "run"),
    [
        (
            "self.params, metrics = self.p_step(self.params, batch)\n        return metrics",
            "print(self.step(batch)['loss'][0])",
        ),
        (
            "params, metrics = self.p_step(self.params, batch)\n        return params, metrics",
            "self.params, found = self.step(batch)\n            print(found['loss'][0])",
        ),
        (
            "pass",
            "self.params, self.metrics = self.p_step(self.params, batch)\n            print(self.metrics['loss'][0])",
        ),
    ],
)
def test_metrics_come_through_methods_and_fields(step: str, run: str) -> None:
    """What a method returns, and what an object keeps, is what the map gave."""
    loss = 'jnp.mean(batch["x"] @ params)'
    assert told(METHODS.format(loss=loss, step=step, run=run))
    assert not told(METHODS.format(loss=f'jax.lax.pmean({loss}, "batch")', step=step, run=run))


@pytest.mark.parametrize("read", ["out[0].mean()", "head(out).mean()", "step(1)[0].mean()"])
def test_the_first_of_several_results_is_no_devices(read: str) -> None:
    """`out[0]` of a tuple is the first of what the mapped function returns, with all devices' values."""
    text = f"""\
import jax
import jax.numpy as jnp
def evaluate(params, batch):
    return jnp.mean(batch["loss"] @ params), params
evaluate = jax.pmap(evaluate, axis_name="batch")
def head(out):
    return out[0]
def step(batch):
    out = evaluate(PARAMS, batch)
    return out
def run(params, batch):
    out = evaluate(params, batch)
    print({read})
"""
    assert not told(text)
