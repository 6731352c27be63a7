"""Networks of flax that are applied in a map: what they reduce, and where they part the devices."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """\
import jax, optax
import jax.numpy as jnp
import flax.linen as nn
from flax.training.train_state import TrainState
from jax import lax

class Inner(nn.Module):
    @nn.compact
    def __call__(self, x):
        return {inner}

class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(3)
        self.inner = Inner()

    def __call__(self, x):
        return self.inner(self.dense(x))

    def loss(self, x, y):
        return {loss}

net = Net()

def step(state, x, y):
    params = state.params
    {body}

p = jax.pmap(step, axis_name="i", in_axes={axes})
"""
PLAIN = {"inner": "x", "loss": "lax.pmean(jnp.mean((self.dense(x) - y) ** 2), 'i')", "axes": "(0, 0, 0)"}
CREATE = "\ndef create(params):\n    return TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))\n"
LOSS = "net.apply(params, x, y, method='loss')"


def found(changed: dict[str, str], more: str = "") -> set[str]:
    """The codes of what is told about reductions."""
    text = PROGRAM.format(**{**PLAIN, **changed}) + more
    compile(text, "a.py", "exec")
    codes = {one.code for one in lint([decode(text.encode(), "a.py", None)], Config())}
    return {code for code in codes if code.startswith(("JM2", "JM3"))}


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({"body": f"return lax.pmean({LOSS}, 'i')"}, set()),  # of one number, which it is no waste to average again
        ({"body": f"return lax.psum({LOSS}, 'i')"}, {"JM202"}),
        ({"body": f"return {LOSS}"}, set()),
        ({"body": "return lax.psum(net.apply(params, x, y, method=Net.loss), 'i')"}, {"JM202"}),
        ({"body": f"return lax.pmean({LOSS}, 'i')", "loss": "jnp.mean((self.dense(x) - y) ** 2)"}, set()),
        ({"body": f"return lax.pmean({LOSS}, 'i')", "loss": "lax.pmean(self.dense(x), 'i').mean() + y.mean()"}, set()),
        # in a network within a network
        ({"body": "return net.apply(params, x)", "inner": "lax.pmean(lax.pmean(x, 'i'), 'i')"}, {"JM202"}),
        ({"body": "return lax.pmean(net.apply(params, x), 'i')", "inner": "lax.pmean(nn.relu(x), 'i')"}, {"JM202"}),
        ({"body": "return net.apply(params, x)",
          "inner": "lax.cond(lax.axis_index('i') == 0, lambda a: lax.pmean(a, 'i'), lambda a: a, x)"}, {"JM301"}),
        # what layers give differs as their parameters do
        ({"body": "return net.apply(params, x)", "inner": "lax.psum(nn.Dense(3)(x), 'i')", "axes": "(0, None, None)"},
         set()),
        ({"body": "return net.apply(params, x)", "inner": "lax.psum(x, 'i')", "axes": "(0, None, None)"}, set()),
        # gradients of what a network averages are each device's own under pmap
        ({"body": "l, g = jax.value_and_grad(lambda p: net.apply(p, x, y, method='loss'))(params)\n"
          "    return state.apply_gradients(grads=g)"}, {"JM201"}),
    ],
)  # fmt: skip
def test_what_a_network_reduces(changed: dict[str, str], codes: set[str]) -> None:
    """A reduction in the method that is applied counts as one of the step that applies it."""
    assert found(changed) == codes


def test_a_network_that_a_state_keeps() -> None:
    """`state.apply_fn` is the network's that the state was made with, where that is one."""
    body = {"body": "return lax.psum(state.apply_fn(params, x, y, method='loss'), 'i')"}
    assert found(body, CREATE) == {"JM202"}
    assert found(body) == set()
    other = CREATE.replace("def create", "def other").replace("net.apply", "Inner().apply")
    assert found(body, CREATE + other) == set()
