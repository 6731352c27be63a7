"""States of which a function that saves takes one copy, and one beside them that it leaves, though both are replicated.

By their names: `params = get_first(params)`, and `opt_state` as it is, where another function replicates both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.first_devices import names_first
from jaxmigrate.flow.kinds_of_names import TREES, kind_of
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name

SAVES = re.compile(r"save|saving|checkpoint|serial")
REPLICATES = re.compile(r"replicat")


class Left(NamedTuple):
    """A state that keeps its device axis, and the statement that takes one copy of another beside it."""

    name: str
    other: str
    node: ast.expr
    module: Module


def left_stacked(facts: Facts) -> Iterator[Left]:
    """The states that functions which save leave as they are, beside one of which they take a copy."""
    functions = [
        (node, module)
        for module in facts.modules
        if "first" in module.text or "unreplicate" in module.text or REPLICATES.search(module.text)
        for node in module.table.own_scope
        if isinstance(node, ast.FunctionDef)
    ]
    together = [set(_assigned(node, lambda f: REPLICATES.search(last_name(f)) is not None)) for node, _ in functions]
    together = [names for names in together if len(names) > 1]
    for node, module in functions if together else ():
        if not SAVES.search(node.name):
            continue
        taken = _assigned(node, names_first)
        for name in sorted(_unpacked(node) - set(taken)) if taken else ():
            other = next((one for one in taken if any({one, name} <= names for names in together)), None)
            if other is not None and kind_of(name) in TREES and kind_of(other) in TREES:
                yield Left(name, other, taken[other], module)


def _assigned(function: ast.FunctionDef, made: Callable[[ast.expr], bool]) -> dict[str, ast.expr]:
    """The names that are given what a call of some kind makes of themselves: `params = replicate(params)`."""
    found: dict[str, ast.expr] = {}
    for node in own_statements(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[ast.Name(id=given)]) as call):
                if name == given and made(func):
                    found[name] = call
    return found


def _unpacked(function: ast.FunctionDef) -> set[str]:
    """The parameters of a function, and what it unpacks of one."""
    names = {one.arg for one in function.args.args}
    for node in own_statements(function):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=elements)], value=ast.Name(id=held)) if held in names:
                names |= {one.id for one in elements if isinstance(one, ast.Name)}
    return names
