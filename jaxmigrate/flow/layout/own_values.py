"""Variables that never hold a host buffer which others may see: counters, and containers that a program makes itself.

`n += x` of a number gives a new one, and `found[key] = x` puts something in a container's place: nothing is written
into an array that a batch may be a view of.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.alias_flow import Variable
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import External

NUMBERS = named("gives-number")
CONTAINERS = named("makes-container")


def is_counted(target: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether `target += x` changes a number, or a container that has a name."""
    return isinstance(target, ast.Name | ast.Attribute) and _is_own(target, module, resolver)


def is_entry(target: ast.Subscript, module: Module, resolver: Resolver) -> bool:
    """Whether `target = x` puts something into a container that the program makes itself."""
    return isinstance(target.value, ast.Name | ast.Attribute) and _is_own(target.value, module, resolver)


def _is_own(node: ast.Name | ast.Attribute, module: Module, resolver: Resolver) -> bool:
    if isinstance(node, ast.Attribute):
        return _holds_own((None, node.attr), resolver)
    scope = module.table.scope_of.get(node)
    holder = scope.lookup(node.id) if scope is not None else None
    every = holder.bindings.get(node.id, ()) if holder is not None else ()
    parents = module.table.parents
    added = [above for b in every if isinstance(above := parents.get(b.node), ast.AugAssign)]
    bindings = [b for b in every if not isinstance(parents.get(b.node), ast.AugAssign)]
    if not all(_is_made(one.value, module, resolver) for one in added):
        return False  # a number becomes an array where one is added
    return bool(bindings) and all(
        b.kind == "assign" and (value := _bound(b)) is not None and _is_made(value, module, resolver) for b in bindings
    )


def _bound(binding: Binding) -> ast.expr | None:
    """What an assignment gives a name: `a, b = 0, []` too."""
    match binding.value, binding.path:
        case value, ():
            return value
        case ast.Tuple(elts=parts), (int(place),) if not any(isinstance(one, ast.Starred) for one in parts):
            return parts[place]
    return None


@once_each
def _holds_own(variable: Variable, resolver: Resolver) -> bool:
    """Whether all that is ever assigned to attributes of a name are numbers and new containers."""
    name, found = variable[1], False
    for module in resolver.project.named:
        if name not in module.text:
            continue
        if any(name in scope.bindings for scope in module.table.own_scope.values() if scope.kind == "class"):
            return False
        if f'"{name}"' in module.text or f"'{name}'" in module.text:
            return False  # by setattr, or among the names of fields
        for node in module.table.named.get(name, ()):
            if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
                continue
            parent = module.table.parents.get(node)
            value = parent.value if isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign) else None
            if value is None or not _is_made(value, module, resolver):
                return False
            found |= not isinstance(parent, ast.AugAssign)
    return found


def _is_made(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression gives a number, or a container that nothing else holds."""
    match node:
        case ast.Dict() | ast.DictComp() | ast.List() | ast.ListComp() | ast.Set() | ast.SetComp():
            return True
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_made(operand, module, resolver)
        case ast.BinOp(left=ast.List(), op=ast.Mult()):
            return True
        case ast.BinOp(left=left, right=right):
            return all(_is_made(one, module, resolver) for one in (left, right))
        case ast.Call(func=func):
            callee = resolver.value(func, module)
            return isinstance(callee, External) and callee.name in NUMBERS | CONTAINERS
    return False
