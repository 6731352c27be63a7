"""Calls that draw for each device on its own: given a key for each, or one key and the number of devices.

No reader takes what they give for the same on all devices, whatever it is called.
"""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.layout import key_rows
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import said_names

KEY = re.compile(r"(?:^|_)(?:keys?|prng|rngs?|seeds?)(?:_|\d*$)")
SPLITS = named("splits-raw")
PER_DEVICE = frozenset({"shard_prng_key"})
DEEPEST = 2  # names of names


def is_one(idioms: Idioms, call: ast.Call, module: Module) -> bool:
    """Whether a call evidently gives another value for each device."""
    given = [(None, one) for one in call.args] + [(one.arg, one.value) for one in call.keywords]
    if any(_are_keys(idioms, one, module, DEEPEST) for _, one in given):
        return True
    keyed = any(KEY.search(said) for name, one in given for said in (name or "", *said_names(one)))
    return keyed and any(_has_count(idioms, one, module) for _, one in given)


def _are_keys(idioms: Idioms, node: ast.expr, module: Module, depth: int) -> bool:
    """Whether an expression is as many keys as there are devices: `jax.random.split(key, n)`."""
    match node:
        case ast.Call(func=func):
            if idioms.external(func, module) in SPLITS:
                count = key_rows.number_of_keys(node)
                return key_rows.splits_for_each(idioms, node, module) or (
                    count is not None and _has_count(idioms, count, module)
                )
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            return name in PER_DEVICE
        case ast.Name() if depth:
            bindings = idioms.resolver.bindings_at(node, module)
            values = [one.value for one in bindings if one.value is not None and not one.path]
            return any(_are_keys(idioms, one, module, depth - 1) for one in values)
    return False


def _has_count(idioms: Idioms, node: ast.expr, module: Module) -> bool:
    """Whether an expression is a shape that starts with the number of devices."""
    sizes = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    return bool(sizes) and idioms.is_count(sizes[0], module)
