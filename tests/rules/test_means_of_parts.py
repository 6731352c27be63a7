"""Reductions of what one device has, of scattered rows and of means; metrics behind loops and long bodies."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = "import elsewhere, jax\nimport jax.numpy as jnp\nfrom jax import lax\n"
PROGRAM = """
def f(x):
    i = lax.axis_index("i")
    {body}
p = jax.pmap(f, "i")
"""


def found(text: str) -> set[str]:
    """The codes of what is told about reductions."""
    text = PRELUDE + text
    compile(text, "a.py", "exec")
    return {one.code for one in lint([decode(text.encode(), "a.py", None)], Config()) if one.code.startswith("JM2")}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return lax.pmean(jnp.where(i == 0, x, jnp.zeros_like(x)), 'i')", True),
        ("return jax.tree.map(lambda v: lax.pmean(jnp.where(i == 0, v, 0.0), 'i'), x)", True),
        ("return lax.pmean(lax.select(i != 0, jnp.zeros_like(x), x), 'i')", True),
        ("return lax.psum(jnp.where(i == 0, x, jnp.zeros_like(x)), 'i')", False),
        ("return lax.pmean(jnp.where(i == 0, x, 0), 'i') * lax.axis_size('i')", False),
        ("return lax.pmean(jnp.where(i == 0, x, x + 1), 'i')", False),
        ("return lax.pmean(jnp.where(i == 0, x, 0) + x, 'i')", False),
        ("return lax.pmean(jnp.where(x > 0, x, 0), 'i')", False),
        # a mean that is divided by the number of devices once more
        ("return lax.pmean(x, 'i') / lax.psum(1, 'i')", True),
        ("n = lax.axis_size('i')\n    return jax.tree.map(lambda v: v / n, lax.pmean(x, 'i'))", True),
        ("return lax.psum(x, 'i') / lax.psum(1, 'i')", False),
        ("return lax.pmean(x, 'i') / jnp.sqrt(lax.psum(1, 'i'))", False),
        ("return lax.pmean(x, 'i') / (2 * lax.psum(1, 'i'))", False),
        ("return jnp.sum(lax.pmean(x, 'i')) / lax.psum(1, 'i')", False),
        ("return lax.pmean(x, 'i') / lax.psum(x.size, 'i')", False),
        (
            "s = elsewhere.State().apply_gradients(grads=lax.pmean(x, 'i'))\n    return s.params / lax.axis_size('i')",
            False,
        ),
        # rows of a sum that was scattered
        ("return lax.pmean(lax.psum_scatter(x, 'i', tiled=True), 'i')", True),
        ("g = lax.psum_scatter(x, 'i') / 8\n    return lax.psum(g, 'i')", True),
        ("g = lax.psum_scatter(x, 'i')\n    return lax.psum(jnp.sum(g ** 2), 'i')", False),
        ("g = lax.psum_scatter(x, 'i')\n    return lax.psum((g ** 2).sum(), 'i')", False),
        ("g = lax.psum_scatter(x, 'i')\n    return lax.psum(elsewhere.norm(g), 'i')", False),
        ("return lax.all_gather(lax.psum_scatter(x, 'i'), 'i')", False),
    ],
)
def test_reductions(body: str, told: bool) -> None:
    assert found(PROGRAM.format(body=body)) == ({"JM202"} if told else set())


LOGGED = """
def step(state, batch):
    def loss_fn(params):
        losses = []
        for out in elsewhere.model.apply(params, batch["x"]):
            losses.append(jnp.mean((out - batch["y"]) ** 2))
        return sum(losses)
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    state = state.apply_gradients(grads=lax.pmean(grads, "i"))
    return state, {loss}
p = jax.pmap(step, "i")
def train(state, batches):
    for batch in batches:
        state, loss = p(state, batch)
        print({read})
"""


@pytest.mark.parametrize("read", ["loss[0]", "loss[-1].item()"])
def test_a_metric_of_several_outputs(read: str) -> None:
    """A list that a loop fills holds what it puts there; the last device is one as well as the first."""
    assert found(LOGGED.format(loss="loss", read=read)) == {"JM208"}
    assert found(LOGGED.format(loss="lax.pmean(loss, 'i')", read=read)) == set()


def test_behind_a_long_function() -> None:
    """What a body calls may be long: what stands behind it is read all the same."""
    layer = "def layer{0}(p, x):\n" + "    x = jnp.tanh(x @ p['w'] + p['b']) * p['s'] + x\n" * 40 + "    return x\n"
    layers = "".join(layer.format(number) for number in range(30))
    net = "def net(p, x):\n" + "".join(f"    x = layer{number}(p, x)\n" for number in range(30)) + "    return x\n"
    step = """
def step(params, batch):
    loss = jnp.mean(net(params, batch["x"]) ** 2)
    loss = lax.pmean(loss, "i")
    return {}
p = jax.pmap(step, "i")
"""
    assert found(layers + net + step.format("lax.psum(loss, 'i')")) == {"JM202"}
    assert found(layers + net + step.format("loss")) == set()


def test_a_long_function_may_reduce() -> None:
    """What is not read any more may have averaged what it gives."""
    layer = "def layer{0}(p, x):\n" + "    x = jnp.tanh(x @ p['w'] + p['b']) * p['s'] + x\n" * 40 + "    return x\n"
    layers = "".join(layer.format(number) for number in range(30))
    net = "def net(p, x):\n" + "".join(f"    x = layer{number}(p, x)\n" for number in range(30)) + "    return x\n"
    step = """
def averaged(x):
    return lax.pmean(x, "i")
def step(params, batch):
    out = net(params, batch["x"])
    return averaged(out.mean())
p = jax.pmap(step, "i")
def main(params, batches):
    for batch in batches:
        loss = p(params, batch)
        print(loss[0])
"""
    assert found(layers + net + step) == set()
