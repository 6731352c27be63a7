"""JM215: the norm of a device's own gradients goes into the metrics, right above their reduction."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

STEP = """\
import functools
import equinox as eqx
import jax
import optax
@functools.partial(eqx.filter_pmap, axis_name="device")
def step(model, optim, loss, opt_state, batch):
    (total, metrics), grads = eqx.filter_value_and_grad(loss, has_aux=True)(model, batch)
    {above}
    grads = jax.lax.pmean(grads, axis_name="device")
    {below}
    updates, opt_state = optim.update(grads, opt_state, model)
    return eqx.apply_updates(model, updates), opt_state, metrics
"""
NORM = 'metrics["grad_norm"] = optax.global_norm(grads)'


@pytest.mark.parametrize(
    ("above", "below", "told"),
    [
        (NORM, "pass", [8]),
        ("pass", NORM, []),
        (NORM.replace("grad_norm", "local_grad_norm"), "pass", []),
        (NORM.replace("grad_norm", "norm_before"), NORM, []),  # both are logged
        ("scale = 1.0", "pass", []),
    ],
)
def test_norms_above_the_reduction(above: str, below: str, told: list[int]) -> None:
    text = STEP.format(above=above, below=below)
    found = [one.line for one in lint([decode(text.encode(), "main.py")], Config()) if one.code == "JM215"]
    assert found == told
