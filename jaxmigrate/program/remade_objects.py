"""Whether a program runs the `__init__` of objects that are made already, so that what it sets may change."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name

CONSTRUCTOR = "__init__"


@once
def remakes_objects(resolver: Resolver) -> bool:
    """Whether some code names an `__init__` but to call that of a base in one: `self.__init__(True)`."""
    return any(_remakes(module) for module in resolver.project.program if f".{CONSTRUCTOR}" in module.text)


def _remakes(module: Module) -> bool:
    for node in module.table.named.get(CONSTRUCTOR, ()):
        function, parent = module.table.function_of(node), module.table.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        within = called and getattr(function, "name", "") == CONSTRUCTOR
        if not within or not isinstance(node, ast.Attribute) or not _is_base(node.value):
            return True
    return False


def _is_base(node: ast.expr) -> bool:
    """Whether an expression is `super()`, or the name of a class."""
    if isinstance(node, ast.Call):
        return last_name(node.func) == "super"
    return isinstance(node, ast.Name | ast.Attribute) and last_name(node) != "self"
