"""The function that a site maps, where it can see blocks itself: it is the program's own and has no other use."""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import NAMING
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.sites import mapped_function, mapped_values
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Class, Function, Partial

Named = ast.FunctionDef | ast.AsyncFunctionDef


def body_function(plan: MapPlan, resolver: Resolver, reachable: ReachableModules) -> Function | None:
    """What a site maps, where it is a function of the same file that no other code uses."""
    site = plan.site
    if plan.choice is not None and plan.choice.squeezes:
        function = plan.choice.squeezes[0].function
        return None if _is_called_from_below(function, resolver) else function
    value, _ = mapped_function(site, resolver)
    value = value or _of_partial(plan, resolver)
    if value is None or value.module is not site.module:
        return None
    if isinstance(value.node, ast.Lambda):
        expression = site.mapped.expression if site.mapped is not None else None
        return value if value.node is expression else None
    if site.mapped is not None and site.mapped.expression is None:  # decorated
        own = [d for d in value.node.decorator_list if d is not site.node]
        below = value.node.decorator_list[value.node.decorator_list.index(site.node) + 1 :] if own else []
        return value if not below else None
    if value.node.decorator_list or not _is_only_mapped(value, reachable):
        return None
    expression = site.mapped.expression if site.mapped is not None else None
    return value if expression is None or _is_held_alone(expression, value, reachable) else None


def made_function(plan: MapPlan, resolver: Resolver, reachable: ReachableModules) -> Function | None:
    """What a site maps, where a function of the same file makes it for this site alone: `pmap(make_step(config))`."""
    found = mapped_values(plan.site, resolver)
    value, module = found[0] if len(found) == 1 else None, plan.site.module
    maker = value.callee if isinstance(value, Application) else None
    if not isinstance(value, Application) or not isinstance(maker, Function) or maker.module is not module:
        return None
    expression = plan.site.mapped.expression if plan.site.mapped is not None else None
    by_name = plan.by_name or plan.by_keyword or plan.given_by_keyword or plan.any_keywords
    if expression is None or by_name or not isinstance(maker.node, ast.FunctionDef) or maker.node.decorator_list:
        return None
    if not (_is_only_mapped(maker, reachable) and _is_held_alone(expression, maker, reachable, value.node)):
        return None
    returned = returned_by(maker.node)
    name = returned[0] if len(returned) == 1 else None
    made = module.table.own_scope[maker.node].bindings.get(name.id, ()) if isinstance(name, ast.Name) else ()
    inner = made[0].node if len(made) == 1 else None
    if not isinstance(inner, ast.FunctionDef) or inner.decorator_list or not _is_read_once(inner, module):
        return None
    return Function(module, inner)


def _is_read_once(function: ast.FunctionDef, module: Module) -> bool:
    """Whether a function within another one is mentioned once alone."""
    scope = module.table.scope_of.get(function)
    mentions = [one for one in module.mentions.get(function.name, ()) if isinstance(one, ast.Name)]
    asks = any(isinstance(one, ast.Name) for name in NAMING for one in module.mentions.get(name, ()))
    asks = asks or "f_locals" in module.mentions
    return not asks and sum(not _is_another(one, function.name, module, scope) for one in mentions) == 1


def _of_partial(plan: MapPlan, resolver: Resolver) -> Function | None:
    """The function of a partial that binds first arguments by position, where it is known which ones are left."""
    found = mapped_values(plan.site, resolver)
    partial = found[0] if len(found) == 1 else None
    if not isinstance(partial, Partial) or plan.names is None:
        return None
    known = plan.whole_in or len(plan.names) == len(plan.inputs)
    named = isinstance(partial.callee, Function) and isinstance(partial.callee.node, Named)
    return partial.callee if known and named and isinstance(partial.callee, Function) else None


def _is_held_alone(
    node: ast.expr, function: Function, reachable: ReachableModules, made: ast.expr | None = None
) -> bool:
    """Whether the names by which a site maps a function, as `step` of `step = partial(function, n)`, have no other use.

    How often the function's own name is used is another question. `made` is the call of it that gives what is mapped.
    """
    assert isinstance(function.node, Named)
    while isinstance(node, ast.Call) and node.args and made is None:
        node = node.args[0]
    if node is made or (made is None and last_name(node) == function.node.name):
        return True
    module = function.module
    scope = module.table.scope_of[node].lookup(node.id) if isinstance(node, ast.Name) else None
    if scope is None or not isinstance(node, ast.Name):
        return False
    name = node.id
    word = re.compile(rf"\b{re.escape(name)}\b")
    reads = [
        one
        for one in module.mentions.get(name, ())
        if not isinstance(one, ast.Attribute | ast.keyword | ast.alias) and not _is_another(one, name, module, scope)
    ]
    loads = [one for one in reads if not (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))]
    if len(loads) != 1 or (scope is module.table.root and reachable.is_said_beside(module.path, word)):
        return False
    values = [one.value if not one.path else None for one in scope.bindings[name]]
    return all(value is not None and _is_held_alone(value, function, reachable, made) for value in values)


def _is_called_from_below(function: Function, resolver: Resolver) -> bool:
    """Whether a method of a derived class may call one, by `super()` or by the name of the class."""
    scope = function.module.table.scope_of.get(function.node)
    if scope is None or scope.kind != "class" or isinstance(function.node, ast.Lambda):
        return False
    reads = (
        (node, module) for module in resolver.project.program for node in module.table.named.get(function.node.name, ())
    )
    return any(
        isinstance(node, ast.Attribute)
        and (_is_super(node.value) or isinstance(resolver.value(node.value, module), Class))
        for node, module in reads
    )


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _is_only_mapped(function: Function, reachable: ReachableModules) -> bool:
    """Whether a function has no other use than being mapped at one site, as far as names and strings can tell."""
    assert isinstance(function.node, Named)
    name, module = function.node.name, function.module
    word = re.compile(rf"\b{re.escape(name)}\b")
    scope = module.table.scope_of.get(function.node)
    is_method = scope is None or scope.kind == "class"
    mentions = [
        node
        for node in module.mentions.get(name, ())
        if is_method or not isinstance(node, ast.Attribute | ast.keyword)  # what is no method is no attribute here
    ]
    if scope is not None and scope.kind == "function" and module.mentions.keys().isdisjoint({*NAMING, "f_locals"}):
        mentions = [node for node in mentions if not isinstance(node, ast.Constant)]  # which are words of their own
    if sum(not _is_another(node, name, module, scope) for node in mentions) != 1:
        return False
    if scope is not module.table.root and (scope is None or scope.kind != "class"):
        return True
    return not reachable.is_said_beside(module.path, word)


def _is_another(node: ast.AST, name: str, module: Module, scope: Scope | None) -> bool:
    """Whether a name stands for something else than what a scope has by it: a field of a class, a local variable."""
    own = module.table.scope_of.get(node) if isinstance(node, ast.Name) else None
    if own is None or own is scope or not isinstance(node, ast.Name) or name in own.outer_names:
        return False
    if own.kind == "class":
        return isinstance(node.ctx, ast.Store)  # what it reads may be bound there only later
    return own.lookup(name) is not scope
