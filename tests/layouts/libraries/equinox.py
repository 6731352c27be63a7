"""A stand-in for equinox, which is not installed: models as trees, and what keeps or replaces some of their leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


class Module:
    """A dataclass that is a tree of its fields."""

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(cls)
        jax.tree_util.register_dataclass(cls, [*cls.__annotations__], [])


def is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array)


def is_inexact_array(leaf: Any) -> bool:
    return is_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.inexact)


def partition(pytree: Any, filter_spec: Any) -> tuple[Any, Any]:
    def asked(one: Any, part: Any) -> Any:
        return jax.tree.map(one if callable(one) else lambda _: one, part)

    spec = jax.tree.map(asked, filter_spec, pytree)
    kept = jax.tree.map(lambda keep, leaf: leaf if keep else None, spec, pytree)
    return kept, jax.tree.map(lambda keep, leaf: None if keep else leaf, spec, pytree)


def filter(pytree: Any, filter_spec: Any) -> Any:  # noqa: A001 - its name there
    return partition(pytree, filter_spec)[0]


def combine(*pytrees: Any) -> Any:
    def first(*leaves: Any) -> Any:
        return next((leaf for leaf in leaves if leaf is not None), None)

    return jax.tree.map(first, *pytrees, is_leaf=lambda leaf: leaf is None)


def apply_updates(model: Any, updates: Any) -> Any:
    return jax.tree.map(lambda u, p: p if u is None else p + u, updates, model, is_leaf=lambda leaf: leaf is None)


def tree_at(where: Callable[[Any], Any], pytree: Any, replace: Any) -> Any:
    leaves, structure = jax.tree.flatten(pytree)
    chosen = jax.tree.leaves(where(jax.tree.unflatten(structure, range(len(leaves)))))
    for index, new in zip(chosen, jax.tree.leaves(replace), strict=True):
        leaves[index] = new
    return jax.tree.unflatten(structure, leaves)


def filter_value_and_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(model: Any, *args: Any) -> Any:
        diff, rest = partition(model, is_inexact_array)
        return jax.value_and_grad(lambda part: function(combine(part, rest), *args))(diff)

    return run
