"""What a program does on the host that tells one device from all of them, or an array from its copy.

`unreplicate` gives an array of its own on the first device. A global array in its place lies on all devices, which no
computation takes together with what was put on one, and it is the state itself, which must not be deleted or donated.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from jaxmigrate.flow.layout.kinds import UNREPLICATE
from jaxmigrate.flow.layout.operations import is_fetched
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.library import named, the
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External, Function, Partial

PUTS = named("puts")
ON_ONE = named("on-one-device")
DONATES = frozenset({"donate_argnames", "donate_argnums"})
OVER_SEVERAL = frozenset({the("named-sharding")})
DEEPEST = 3


def keeps_on_one(resolver: Resolver, replaced: Collection[ast.expr]) -> bool:
    """Whether some code of a program may commit arrays to one device; `replaced` are the calls that go."""
    return any(
        call not in replaced and _commits(resolver, call, module)
        for module in resolver.project.program
        for call in module.table.calls
    )


def _commits(resolver: Resolver, call: ast.Call, module: Module) -> bool:
    value = resolver.value(call.func, module)
    name = value.name if isinstance(value, External) else ""
    if name in PUTS:
        given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg in ("device", None))]
        return any(not _is_over_several(resolver, one, module) for one in given)
    if name == UNREPLICATE:
        return not is_fetched(resolver, call, module)
    if name in JITS:
        return any(k.arg in ("device", "backend") for k in call.keywords)
    return name in ON_ONE or (isinstance(call.func, ast.Attribute) and call.func.attr == "to_device")


def _is_over_several(resolver: Resolver, node: ast.expr, module: Module) -> bool:
    """Whether what arrays are put on is certainly no single device."""
    if isinstance(node, ast.Constant) and node.value is None:
        return True
    values = resolver.values(node, module)
    made = [v.callee for v in values if isinstance(v, Application)]
    return len(made) == len(values) and all(isinstance(one, External) and one.name in OVER_SEVERAL for one in made)


def gives_up(resolver: Resolver) -> bool:
    """Whether some code on the host may delete arrays, or donate them to what it compiles."""
    return any(_gives_up(resolver, call, module) for module in resolver.project.program for call in module.table.calls)


def _gives_up(resolver: Resolver, call: ast.Call, module: Module) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "delete" and not (call.args or call.keywords):
        return True
    if not any(k.arg in DONATES for k in call.keywords):
        return False
    value = resolver.value(call.func, module)
    if isinstance(value, External) and value.name in PARTIALS and call.args:
        value = resolver.value(call.args[0], module)
    while isinstance(value, Partial):
        value = value.callee
    return not isinstance(value, External) or value.name in JITS


def takes_from_one(resolver: Resolver, node: ast.expr, module: Module, depth: int = 0) -> bool:
    """Whether an expression may be flax's unreplicate, whose result lies on one device; `x[0]` lies on all of them."""
    if not isinstance(node, ast.Call) or depth > DEEPEST:
        return isinstance(node, ast.Call)
    for called in (node.func, *node.args[:1]):
        for value in resolver.values(called, module):
            if isinstance(value, External) and value.name == UNREPLICATE:
                return True
            if isinstance(value, Function):
                inner = [n for n in ast.walk(value.node) if isinstance(n, ast.Call)]
                if any(takes_from_one(resolver, one, value.module, depth + 1) for one in inner):
                    return True
    return False
