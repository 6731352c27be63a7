"""Calls of networks that draw nothing, as they pass False for what every draw in them stands under."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.variance.library import DRAWS
from jaxmigrate.flow.variance.run import KEY
from jaxmigrate.program.imports import reached
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, External, Function, Instance

MAKING = frozenset({"make_rng", "next_rng_key"})
SEEN = tuple[ast.AST, frozenset[str]]


def draws_nothing(call: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether `model.apply(variables, key, x, False)` passes False for what all draws of the network stand under.

    This has to hold of every network of the program that it may be by what it takes: as many arguments, and keys where
    it is given keys.
    """
    if not isinstance(call, ast.Call) or any(isinstance(one, ast.Starred) for one in call.args) or module.is_test:
        return False
    words = {str(one.arg): one.value for one in call.keywords}
    given = call.args[1:]
    if "None" in words or not any(map(_is_false, (*given, *words.values()))):
        return False
    fitting = [one for one in _networks(facts) if _fits(one, given, words)]
    return bool(fitting) and all(_is_still(one, _off(one, given, words), facts.resolver, set()) for one in fitting)


def _networks(facts: Facts) -> Iterator[Function]:
    """What the program's classes do where they are called, also of files that nothing else is asked about."""
    project = facts.resolver.project
    paths = {path for one in project.named for path in (one.path, *reached(one.path, one.text, project))}
    texts = ((path, project.text(path) or "") for path in sorted(paths))
    modules = [project.module(path) for path, text in texts if "def __call__" in text]
    for module in modules:
        for node in module.table.own_scope if module is not None and not module.is_test else ():
            if isinstance(node, ast.ClassDef) and module is not None:
                cls = Class(module, node)
                for one in node.body:
                    if isinstance(one, ast.FunctionDef) and one.name == "__call__":
                        yield Function(module, one, Instance(cls))


def _fits(function: Function, given: list[ast.expr], words: dict[str, ast.expr]) -> bool:
    """Whether a function takes some arguments, and keys where it is given keys by their names."""
    names = function.passed_names()
    every = {*names, *(one.arg for one in function.node.args.kwonlyargs)}
    if len(given) > len(names) or not words.keys() <= every:
        return False
    return all(KEY.search(name) for one, name in zip(given, names, strict=False) if KEY.search(last_name(one)))


def _off(
    function: Function, given: list[ast.expr], words: dict[str, ast.expr], off: frozenset[str] = frozenset()
) -> frozenset[str]:
    """The parameters that are False for certain; `off`: the names where it is called that are."""

    def is_off(node: ast.expr) -> bool:
        return _is_false(node) or (isinstance(node, ast.Name) and node.id in off)

    by_place = {name for name, one in zip(function.passed_names(), given, strict=False) if is_off(one)}
    found = by_place | {name for name, one in words.items() if is_off(one)}
    scope = function.module.table.own_scope[function.node]
    return frozenset(name for name in found if len(scope.bindings.get(name, ())) == 1)  # bound by the call alone


def _is_still(function: Function, off: frozenset[str], resolver: Resolver, seen: set[SEEN]) -> bool:
    """Whether a function draws nothing where some of its parameters are False."""
    if (function.node, off) in seen:
        return True
    seen.add((function.node, off))
    module = function.module
    for call in walk(function.node):
        if not isinstance(call, ast.Call) or _is_passed_by(call, function.node, off, module):
            continue
        callees = resolver.values(call.func, module)
        if not all(_is_still_call(call, one, off, resolver, seen) for one in callees):
            return False
    return True


def _is_still_call(call: ast.Call, callee: object, off: frozenset[str], resolver: Resolver, seen: set[SEEN]) -> bool:
    words = {str(one.arg): one.value for one in call.keywords}
    if isinstance(callee, Instance):
        methods = resolver.attribute(callee, "__call__")
        callee = methods[0] if len(methods) == 1 else None
    if isinstance(callee, Function):
        plain = not any(isinstance(one, ast.Starred) for one in call.args)
        return _is_still(callee, _off(callee, call.args if plain else [], words, off), resolver, seen)
    if isinstance(callee, External) and callee.name.startswith("jax.random."):
        return callee.name not in DRAWS
    named = (last_name(one) for one in (*call.args, *words.values()))
    return last_name(call.func) not in MAKING and not any(map(KEY.search, named))


def _is_passed_by(node: ast.AST, function: ast.AST, off: frozenset[str], module: Module) -> bool:
    """Whether something in a function stands under a condition that does not hold."""
    parents = module.table.parents
    while node is not function:
        above = parents[node]
        if isinstance(above, ast.If | ast.IfExp) and node is not above.test:
            within = node in above.body if isinstance(above.body, list) else node is above.body
            if _is_known(above.test, off, holds=not within):
                return True
        node = above
    return False


def _is_known(test: ast.expr, off: frozenset[str], *, holds: bool) -> bool:
    """Whether a condition holds, or does not, for certain."""
    match test:
        case ast.Name(id=name):
            return not holds and name in off
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _is_known(inner, off, holds=not holds)
        case ast.BoolOp(op=operation, values=values):
            decides = any if isinstance(operation, ast.Or) is holds else all
            return decides(_is_known(one, off, holds=holds) for one in values)
    return False


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
