"""Names that hold one slice for each device: what `replicate`, a pmap, or a split for each device gave."""

from __future__ import annotations

import ast

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

FETCHING = frozenset({"device_get", "block_until_ready"})


def base(saved: ast.expr) -> ast.Name | None:
    """The name that is saved whole, or an attribute of, be it fetched first."""
    match saved:
        case ast.Name():
            return saved
        case ast.Attribute(value=owner):
            return base(owner)
        case ast.Call(func=function, args=[inner]) if last_name(function) in FETCHING:
            return base(inner)
    return None


def nearest(name: ast.Name, module: Module) -> Binding | None:
    """The assignment of a name that stands nearest above where it is read, in the same function."""
    scope = module.table.scope_of[name]
    holder = scope.lookup(name.id)
    if holder is None or holder.function() is not scope.function():
        return None
    bindings = reaching(holder.bindings[name.id], name, module)
    above = [b for b in bindings if getattr(b.node, "end_lineno", name.lineno) < name.lineno]
    return max(above, key=lambda b: getattr(b.node, "lineno", 0)) if above else None


def is_stacked(binding: Binding, module: Module, stepped: set[ast.Call], facts: Facts) -> bool:
    """Whether a name holds one copy for each device: what `replicate` or a pmap gave."""
    if not isinstance(binding.value, ast.Call):
        return False
    if binding.value in stepped:
        return True
    callee = facts.resolver.value(binding.value.func, module)
    return isinstance(callee, External) and callee.name in REPLICATES
