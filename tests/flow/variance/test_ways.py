"""Where functions go is found once for each name, however many functions lead to the same names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxmigrate.flow.variance import called_as
from jaxmigrate.flow.variance.called_as import Ways
from jaxmigrate.program.modules import Module, Project, parse_module
from jaxmigrate.program.resolve import Resolver


def ways(count: int) -> tuple[Ways, Module, list[ast.FunctionDef]]:
    """Functions of one class each, all of which one list holds, that a loop calls under another name."""
    text = "".join(f"def f{n}(x):\n    return x\n\n\n" for n in range(count))
    text += f"every = [{', '.join(f'f{n}' for n in range(count))}]\nfor one in every:\n    other = one\n    other(1)\n"
    module = parse_module(Path("/project/main.py"), text)
    functions = [node for node in module.tree.body if isinstance(node, ast.FunctionDef)]
    return Ways([module], Resolver(Project([module], lambda _: None, {module.path: text}))), module, functions


def test_a_function_goes_by_all_the_names_that_hold_it() -> None:
    found, module, functions = ways(3)
    assert found.called_as(functions[1], module).names == {"f1", "every", "one", "other"}


def test_names_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    value = called_as._Step.value

    def counted(self: called_as._Step, node: ast.expr, module: Module, *, method: bool = False) -> None:
        nonlocal read
        read += 1
        value(self, node, module, method=method)

    monkeypatch.setattr(called_as._Step, "value", counted)
    needed = []
    for count in (10, 40):
        found, module, functions = ways(count)
        read = 0
        assert all(found.called_as(function, module).names >= {"every", "one", "other"} for function in functions)
        needed.append(read)
    assert needed[1] < 5 * needed[0]
