"""What the leaves of pytrees are, by their types: JAX takes its time to say it of each value."""

from __future__ import annotations

from typing import Any

_MOST_REMEMBERED = 1024
_TRACERS: dict[type, bool] = {}
_ARRAYS: dict[type, bool] = {}


def is_tracer(kind: type) -> bool:
    """Whether what is of this type stands for a value that a transformation will have."""
    found = _TRACERS.get(kind)
    if found is None:
        import jax

        found = _remember(_TRACERS, kind, issubclass(kind, jax.core.Tracer))
    return found


def is_array(kind: type) -> bool:
    """Whether what is of this type is an array of JAX that has a value."""
    found = _ARRAYS.get(kind)
    if found is None:
        import jax

        found = _remember(_ARRAYS, kind, issubclass(kind, jax.Array) and not is_tracer(kind))
    return found


def _remember(answers: dict[type, bool], kind: type, answer: bool) -> bool:
    if len(answers) >= _MOST_REMEMBERED:
        answers.clear()
    return answers.setdefault(kind, answer)


def hold_tracer(values: list[Any]) -> bool:
    """Whether any of the values is a tracer: the call is then being transformed, and has no values."""
    return any(map(is_tracer, {*map(type, values)}))
