"""Tests of what all devices count together: `step % every == 0`, also behind a method's name."""

from __future__ import annotations

import ast
import re

from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Function

COUNTER = re.compile(r"(^|_)(steps?|epochs?|iter(ation)?s?|updates?)(_(counter|count|num|number|idx|index))?$")
SETTINGS = frozenset({"self", "cls", "config", "cfg", "args", "hparams", "FLAGS"})
DEEPEST = 3


def counts_steps(resolver: Resolver, test: ast.expr, module: Module, depth: int = 0) -> bool:
    """Whether a test is made, by their names, of the number of steps and of settings alone."""
    if isinstance(test, ast.Call) and depth < DEEPEST:
        values = resolver.values(test.func, module)
        functions = [one for one in values if isinstance(one, Function)]
        returned = [(one, made.module) for made in functions for one in returned_by(made.node)]
        if returned and len(functions) == len(values):
            return all(one is not None and counts_steps(resolver, one, home, depth + 1) for one, home in returned)
    leaves = [*_leaves(test)]
    counted = [one for one in leaves if COUNTER.search(one.attr if isinstance(one, ast.Attribute) else one.id)]
    return bool(counted) and all(one in counted or _is_setting(one) for one in leaves)


def _leaves(node: ast.AST) -> list[ast.Name | ast.Attribute]:
    """The names, with what stands behind their dots, that an expression is made of; not the functions it calls."""
    if isinstance(node, ast.Name | ast.Attribute):
        return [node]
    inner = [*node.args, *node.keywords] if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
    return [leaf for one in inner for leaf in _leaves(one)]


def _is_setting(node: ast.expr) -> bool:
    if isinstance(node, ast.Name) and node.id.isupper():
        return True
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in SETTINGS
