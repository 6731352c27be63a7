"""Arrays that `device_put` places whole on every device of a mesh: without an axis of devices, if they had none."""

from __future__ import annotations

import ast

from jaxmigrate.program.collectives import SPECS, argument
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External, Function

NAMED_SHARDING = External("jax.sharding.NamedSharding")
DEEPEST = 3


def is_whole(node: ast.expr, module: Module, resolver: Resolver, depth: int = 0) -> bool:
    """Whether an expression is a `NamedSharding(mesh, P())`, be it made by a function of the program."""
    value = resolver.value(node, module)
    if not isinstance(value, Application):
        return False
    if value.callee == NAMED_SHARDING:
        spec = argument(value.arguments, 1, "spec")
        made = resolver.argument_values(spec) if spec is not None else ()
        one = made[0] if len(made) == 1 else None
        plain = isinstance(one, Application) and isinstance(one.callee, External) and one.callee.name in SPECS
        return plain and isinstance(one, Application) and not one.arguments
    if isinstance(value.callee, Function) and depth < DEEPEST:
        returned = returned_by(value.callee.node)
        one_way = returned[0] if len(returned) == 1 else None
        return one_way is not None and is_whole(one_way, value.callee.module, resolver, depth + 1)
    return False
