"""JM506: replicated parameters are donated to a step that gives back their gradients, and are read again."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """\
import jax
import jax.numpy as jnp
import optax
from flax import jax_utils
tx = optax.adam(1e-3)
def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)
def grad_step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return jax.lax.pmean(grads, "i"), jax.lax.pmean(loss, "i")
def eval_step(params, batch):
    return jax.lax.pmean(loss_fn(params, batch), "i")
p_step = jax.pmap({function}, axis_name="i", donate_argnums=({donated},))
def main(params, opt_state, batches):
    params = jax_utils.replicate({given})
    for batch in batches:
        out = p_step(params, batch)
        print(jax.tree.map(jnp.shape, params))
    return out
"""


@pytest.mark.parametrize(
    ("function", "donated", "told"),
    [
        ("grad_step", 0, True),
        ("grad_step", 1, False),
        ("eval_step", 0, False),  # nothing that it gives back could take the memory
    ],
)
def test_parameters_whose_gradients_come_back(function: str, donated: int, told: bool) -> None:
    text = PROGRAM.format(function=function, donated=donated, given="params")
    found = [one for one in lint([decode(text.encode(), "main.py")], Config()) if one.code == "JM506"]
    assert bool(found) is told
