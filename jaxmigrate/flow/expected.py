"""Values that tests expect to raise: where something that is written, or the function around it, comes to be used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.guards import is_within_raises
from jaxmigrate.program.modules import Module


def is_expected_to_raise(node: ast.AST, module: Module) -> bool:
    """Whether a test in the module says that something raises which uses an expression.

    Followed are the names that it is assigned to, the function that it stands in, and the parameters of a function
    that a decorator gives it to, as pytest's parametrize; other modules are not asked.
    """
    seen: set[ast.AST] = set()
    waiting = [node]
    while waiting:
        used = waiting.pop()
        if used in seen:
            continue
        seen.add(used)
        if is_within_raises(used, module):
            return True
        waiting += _uses(used, module)
    return False


def _uses(node: ast.AST, module: Module) -> Iterator[ast.AST]:
    """Where a value is read that an expression becomes a part of."""
    below, above = node, module.table.parents.get(node)
    while above is not None:
        match above:
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from _reads(target, above, module)
            case ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
                yield from _reads(target, above, module)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if below in above.decorator_list:
                    yield from _parameters_read(above, module)
                yield from _named(above.name, above, module)
                return
        below, above = above, module.table.parents.get(above)


def _reads(target: ast.expr, bound: ast.AST, module: Module) -> Iterator[ast.AST]:
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _reads(one, bound, module)
    elif isinstance(target, ast.Name):
        yield from _named(target.id, bound, module)
    elif isinstance(target, ast.Attribute):
        named = module.table.named.get(target.attr, ())
        yield from (one for one in named if isinstance(one, ast.Attribute))


def _named(name: str, bound: ast.AST, module: Module) -> Iterator[ast.AST]:
    """The places where a name is read that is bound somewhere; as an attribute, where a class has it."""
    table = module.table
    for one in table.named.get(name, ()):
        if isinstance(one, ast.Attribute):
            yield from (one,) if isinstance(table.parents.get(bound), ast.ClassDef) else ()
        elif one in table.scope_of:
            holder = table.scope_of[one].lookup(name)
            if holder is not None and any(binding.node is bound for binding in holder.bindings[name]):
                yield one


def _parameters_read(function: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> Iterator[ast.AST]:
    scope = module.table.own_scope.get(function)
    for name, bindings in scope.bindings.items() if scope is not None else ():
        if any(one.kind == "param" for one in bindings):
            named = (one for one in module.table.named.get(name, ()) if isinstance(one, ast.Name))
            yield from (one for one in named if module.table.scope_of[one].lookup(name) is scope)
