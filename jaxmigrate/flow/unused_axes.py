"""Axes that are named once in a whole program: of a mesh that no spec names, and what a function is given for one.

A name that stands for an axis stands at least twice: where a map or a mesh binds it, and where it is used.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.known_axes import known_axes, written_in_specs
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import positional_names
from jaxmigrate.program.values import Function

PARAMETER = re.compile(r"^(\w+_)?ax(is|es)(_names?)?$")
OFTEN = 3  # specs with one name are no slip
SPELLS = re.compile(r"mesh\.shape\[|PartitionSpec|\bP\(")  # what JM101 tells of collectives is enough
BINDS = re.compile(r"Mesh\(|make_mesh|pmap|vmap")


class Unused(NamedTuple):
    """An axis that is named once, where, and the names that others have."""

    module: Module
    node: ast.expr
    axis: str
    others: frozenset[str]


def unused_mesh_axes(facts: Facts) -> Iterator[Unused]:
    """Axes of meshes that nothing else names, where specs name others that no map and no mesh has."""
    meshes = [one for one in facts.meshes if one.axes and not one.module.is_test]
    lone = [(one, axis) for one in meshes for axis in one.axes or () if _times(axis, facts) == 1]
    if not lone:
        return
    known = known_axes(facts.resolver)
    program = facts.resolver.project.program
    named = Counter(str(n.value) for module in program for _, n in written_in_specs(module, facts.resolver))
    unknown = frozenset(named)
    if not known.complete or len(unknown) != 1 or unknown & known.names or sum(named.values()) < OFTEN:
        return
    for mesh, axis in lone:
        yield Unused(mesh.module, mesh.call, axis, unknown)


def passed_axes(facts: Facts) -> Iterator[Unused]:
    """Axes that functions of the program are given by names that nothing in it binds or writes again."""
    known = known_axes(facts.resolver).names
    taking = _taking(facts.resolver) if known else frozenset()
    for module, call in facts.calls(*taking):
        if module.is_test or not any(isinstance(one, ast.Constant) for one in _given(call)):
            continue
        for given in _axes_given(call, module, facts):
            axis = str(given.value)
            if axis not in known and _times(axis, facts) == 1:
                yield Unused(module, given, axis, known)


@once
def _taking(resolver: Resolver) -> frozenset[str]:
    """The names of the program's functions that are given an axis by its name and put it into specs."""
    modules = [one for one in resolver.project.program if SPELLS.search(one.text)]
    functions = (node for one in modules for node in one.table.own_scope if isinstance(node, ast.FunctionDef))
    return frozenset(one.name for one in functions if any(map(PARAMETER.match, positional_names(one.args))))


def _axes_given(call: ast.Call, module: Module, facts: Facts) -> Iterator[ast.Constant]:
    """The strings that a function of the program gets for an axis, by its parameters' names and what it does."""
    for function in facts.resolver.values(call.func, module):
        text = ast.unparse(function.node) if isinstance(function, Function) else ""
        if isinstance(function, Function) and SPELLS.search(text) and not BINDS.search(text):
            for name, given in passed_by(call, function.passed_names()).items():
                if PARAMETER.match(name) and isinstance(given, ast.Constant) and isinstance(given.value, str):
                    yield given


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (one.value for one in call.keywords)


def _times(axis: str, facts: Facts) -> int:
    """How often a name is written in the program."""
    texts = (one.text for one in facts.resolver.project.program)
    return sum(text.count(f"'{axis}'") + text.count(f'"{axis}"') for text in texts)
