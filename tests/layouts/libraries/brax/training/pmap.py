"""The first slice of what is replicated, and whether it is."""

from typing import Any

import jax


def unpmap(v: Any) -> Any:
    """The first slice of each array."""
    return jax.tree.map(lambda x: x[0], v)


def assert_is_replicated(x: Any) -> None:
    """Raises where the slices of an array are not equal."""

    def same(tree: Any) -> Any:
        total = jax.tree.reduce(lambda a, b: a + b, jax.tree.map(lambda y: y.sum(), tree))
        least, most = jax.lax.pmin(total, "i"), jax.lax.pmax(total, "i")  # type: ignore[no-untyped-call]
        return least == most

    assert jax.pmap(same, axis_name="i")(x)[0]
