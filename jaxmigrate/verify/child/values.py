"""What the leaves of pytrees are, by their types: JAX takes its time to say it of each value."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1024)
def is_tracer(kind: type) -> bool:
    """Whether what is of this type stands for a value that a transformation will have."""
    import jax

    return issubclass(kind, jax.core.Tracer)


@lru_cache(maxsize=1024)
def is_array(kind: type) -> bool:
    """Whether what is of this type is an array of JAX that has a value."""
    import jax

    return issubclass(kind, jax.Array) and not is_tracer(kind)


def hold_tracer(values: list[Any]) -> bool:
    """Whether any of the values is a tracer: the call is then being transformed, and has no values."""
    return any(map(is_tracer, {*map(type, values)}))
