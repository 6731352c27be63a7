"""Decorators of a program that run what they decorate on some processes alone: `@only_first_process`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from jaxmigrate.program.syntax import last_name

Test = Callable[[ast.expr], bool]


def is_guard(function: ast.FunctionDef, differs: Test) -> bool:
    """Whether a function holds one that calls what is passed to it only where a test of the process holds."""
    given = {one.arg for node in ast.walk(function) if isinstance(node, ast.FunctionDef) for one in node.args.args}
    inner = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef) and node is not function]
    return any(_calls_at_times(node.body, given, differs) for node in inner)


def guards_of(function: ast.FunctionDef, names: frozenset[str]) -> Iterator[ast.expr]:
    """The decorators of a function that have one of some names, called or not."""
    for one in function.decorator_list:
        callee = one.func if isinstance(one, ast.Call) else one
        if isinstance(callee, ast.Name | ast.Attribute) and last_name(callee) in names:
            yield one


def _calls_at_times(body: list[ast.stmt], names: set[str], differs: Test) -> bool:
    """Whether the statements of a function call what has one of some names on one way of a test alone."""
    for index, node in enumerate(body):
        match node:
            case ast.If(test=test) if differs(test):
                leaves = isinstance(node.body[-1], ast.Return | ast.Raise)
                behind = _calls(body[index + 1 :], names)
                one = _calls(node.body, names) or (behind and not leaves)
                if one != (_calls(node.orelse, names) or behind):
                    return True
            case ast.Return(value=ast.IfExp(test=test, body=first, orelse=second)) if differs(test):
                return _calls([first], names) != _calls([second], names)
    return False


def _calls(nodes: Iterable[ast.AST], names: set[str]) -> bool:
    found = (one.func for node in nodes for one in ast.walk(node) if isinstance(one, ast.Call))
    return any(isinstance(one, ast.Name) and one.id in names for one in found)
