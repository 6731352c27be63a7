"""Which classes an object in the body of a map may be of, where that is not known: by names, as calls are.

What a map is given is a tree: its objects are of classes that JAX takes for one, or that derive from what is not in
sight. Of all others the body, or what it calls, has to make some. Objects from outside may be of any class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable

from jaxmigrate.flow.variance.units import Unit, last

PLAIN = frozenset({"object", "ABC", "Generic", "Protocol"})


def classes_here(units: Iterable[Unit], reached: Collection[str]) -> set[str]:
    """The names of classes among some units of which there may be objects, where the names of `reached` may run."""
    bases: dict[str, set[str]] = {}
    here: set[str] = set()
    for unit in units:
        if isinstance(unit.node, ast.ClassDef):
            bases.setdefault(unit.name, set()).update(last(base) for base in unit.node.bases)
            if unit.name in reached or unit.node.decorator_list or unit.node.keywords or _is_registered(unit):
                here.add(unit.name)
    here |= {name for name, above in bases.items() if not above <= bases.keys() | PLAIN}
    while True:
        more = {name for name, above in bases.items() if above & here}  # a class in the place of its base, and
        more |= {base for name in here for base in bases.get(name, ())}  # a base with the methods of a class
        if more <= here:
            return here
        here |= more


def _is_registered(unit: Unit) -> bool:
    return re.search(rf"register\w*\([^)]*\b{re.escape(unit.name)}\b", unit.module.text) is not None


def takes(node: ast.AST, given: int, named: Collection[str]) -> bool:
    """Whether a method can be called with so many arguments by position, and these by keyword."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.decorator_list:
        return True
    spec = node.args
    names = [one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    if spec.vararg is None and given > len(spec.posonlyargs) + len(spec.args):  # with or without its object
        return False
    if spec.kwarg is None and not set(named) <= set(names):
        return False
    needed = len(spec.posonlyargs) + len(spec.args) - len(spec.defaults) - 1
    return given + len(named) >= needed
