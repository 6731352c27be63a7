"""Random keys of which each device has one, as programs make them."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.device_counts import DeviceCounts
from jaxmigrate.flow.layout.made_arrays import last_named_before
from jaxmigrate.flow.layout.shape_texts import is_first_axis
from jaxmigrate.program.modules import Module

ONE_KEY = frozenset(f"jax.random.{name}" for name in ("PRNGKey", "fold_in", "key"))


def number_of_keys(call: ast.Call) -> ast.expr | None:
    """How many keys a `random.split` is asked for."""
    counts = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "num")]
    return counts[0] if len(counts) == 1 else None


def splits_for_each(counts: DeviceCounts, call: ast.Call, module: Module) -> bool:
    """Whether `random.split(key, n)` gives one key for each device."""
    count = number_of_keys(call)
    return count is not None and counts.is_count(count, module)


def made_one_by_one(counts: DeviceCounts, call: ast.Call, module: Module) -> bool:
    """Whether `jnp.stack([random.fold_in(key, i) for i in range(n)])` has a key for each device."""
    match call.args:
        case [ast.ListComp(elt=ast.Call(func=func), generators=[over])] if all(map(is_first_axis, call.keywords)):
            return counts.external(func, module) in ONE_KEY and counts.is_over_devices(over, module)
    return False


def listed_for_each(counts: DeviceCounts, call: ast.Call, module: Module) -> bool:
    """Whether `jnp.stack(keys)` has one key for each device, after `key, *keys = random.split(key, n + 1)`."""
    listed = call.args[0] if len(call.args) == 1 and not call.keywords else None
    made = last_named_before(call, listed.id, module) if isinstance(listed, ast.Name) else None
    match made:
        case ast.Assign(targets=[ast.Tuple(elts=[*others, ast.Starred()])], value=ast.Call() as split):
            count = number_of_keys(split) if counts.external(split.func, module) == "jax.random.split" else None
        case _:
            return False
    match count:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            known, rest = (left, right) if isinstance(right, ast.Constant) else (right, left)
            return isinstance(rest, ast.Constant) and rest.value == len(others) and counts.is_count(known, module)
    return False
