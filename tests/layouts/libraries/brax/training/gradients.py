"""Gradients that are averaged over a mapped axis where a name of one is given."""

from collections.abc import Callable
from typing import Any

import jax
import optax


def loss_and_pgrad(
    loss_fn: Callable[..., Any], pmap_axis_name: str | None, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the loss and its gradient."""
    both = jax.value_and_grad(loss_fn, has_aux=has_aux)

    def averaged(*args: Any, **kwargs: Any) -> Any:
        value, grad = both(*args, **kwargs)
        return value, jax.lax.pmean(grad, axis_name=pmap_axis_name)  # type: ignore[no-untyped-call]

    return both if pmap_axis_name is None else averaged


def gradient_update_fn(
    loss_fn: Callable[..., Any],
    optimizer: optax.GradientTransformation,
    pmap_axis_name: str | None,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """A function that gives the loss, the parameters and the optimizer's state after one step."""
    both = loss_and_pgrad(loss_fn, pmap_axis_name, has_aux)

    def updated(*args: Any, optimizer_state: Any) -> Any:
        value, grads = both(*args)
        updates, optimizer_state = optimizer.update(grads, optimizer_state)
        return value, optax.apply_updates(args[0], updates), optimizer_state

    return updated
