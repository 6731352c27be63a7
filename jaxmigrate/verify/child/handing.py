"""Whether a mapped function only hands on what it is given: a copy, or a wait, of which a program may do without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# What neither computes nor moves a number to another place in the array.
_HANDS_ON = {
    "broadcast_in_dim",
    "closed_call",
    "copy",
    "core_call",
    "device_put",
    "jit",
    "optimization_barrier",
    "pjit",
    "reshape",
    "shard_map",
    "sharding_constraint",
    "squeeze",
    "xla_pmap",
}
_AXES = ("in_specs", "out_specs", "in_names", "out_names", "in_axes", "out_axes")


def hands_on(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether nothing in a mapped function computes, and all arrays lie along one axis before and after it.

    That is read from what it is traced to, for arguments like those it was given, and holds for all of that form. A map
    over the devices of several processes cannot be traced by one of them: the function itself is, which has no axis.
    """
    import jax

    try:
        shapes, named = jax.tree_util.tree_map(_shape, (args, kwargs))
        function = function if jax.process_count() == 1 else function.__wrapped__
        return _is_copy(jax.make_jaxpr(function)(*shapes, **named).jaxpr)
    except Exception:  # noqa: BLE001 - what cannot be traced is not known to be a copy
        return False


def _shape(value: Any) -> Any:
    """What stands for an array, which may have been donated."""
    import jax

    struct: Any = jax.ShapeDtypeStruct
    return struct(value.shape, value.dtype) if hasattr(value, "shape") and hasattr(value, "dtype") else value


def _is_copy(jaxpr: Any) -> bool:
    return all(
        str(equation.primitive) in _HANDS_ON
        and len({*_axes(equation.params)}) <= 1
        and all(map(_is_copy, _inner(equation.params)))
        for equation in jaxpr.eqns
    )


def _axes(params: dict[str, Any]) -> Iterator[str]:
    """Along which axes a map splits what it is given and puts together what it gives, each as text."""
    for name in _AXES:
        axes = params.get(name, ())
        yield from map(str, axes if isinstance(axes, (tuple, list)) else (axes,))


def _inner(params: dict[str, Any]) -> Iterator[Any]:
    for value in params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            inner = getattr(one, "jaxpr", one)
            if hasattr(inner, "eqns"):
                yield inner
