"""Bases of a class that the project does not hold, which may look at what its objects keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.layout import class_index, classes
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Abstract, Blocker, Ext, Func, Nothing, Plain
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class


def define(it: Interpreter, cls: Class, frame: Frame) -> None:
    """Keeps what objects of a class hold as it is, where a base out of sight may look at it."""
    outside = classes.foreign_base(it, cls)
    if outside and not _leave_alone(it, cls):
        reason = f"is an attribute of {cls.node.name}, whose base class {outside} may read it"
        it.block_class(cls, Blocker(Stacked.NOT_VISIBLE.reason(reason), frame.module, cls.node))


def _leave_alone(it: Interpreter, cls: Class) -> bool:
    """Whether the bases of a class that the project does not hold may be taken not to look at its attributes."""
    granted: list[Assumption] = []
    for name in classes.foreign_bases(it, cls):
        says = f"the base class `{name}` does not read the attributes of `{cls.node.name}` objects"
        one = it.trust.grants("readers", name, says, cls.module, cls.node) if name else None
        if one is None:
            return False
        granted.append(one)
    it.leans = True
    it.assumed.bases[cls] = tuple(granted)
    return True


def leans(it: Interpreter) -> Iterator[Assumption]:
    """What is taken for granted of such bases, where there is something for them to look at."""
    for cls, granted in it.assumed.bases.items():
        if _holds_something(it, cls):
            yield from granted


def _holds_something(it: Interpreter, cls: Class) -> bool:
    """Whether objects of a class hold more than plain values, are mapped by a method, or have methods run unseen."""
    root = it.root(cls)
    if not all(_is_plain(it.variables[key]) for key in it.attributes.get(root, ())):
        return True
    if any(it.root(owner) is root for owner in it.bodies.implicit.values()):
        return True
    family = [cls, *it.resolver.lineage(cls), *class_index.descendants(it, cls)]
    return any(node in it.sites or _is_accessor(node) for one in family for node in ast.walk(one.node))


def _is_plain(value: Abstract) -> bool:
    """Whether there is nothing of the program in a value."""
    items = value.items if isinstance(value, Func) else ()
    return isinstance(value, Plain | Nothing | Func) and all(isinstance(item, Ext) for item in items)


def _is_accessor(node: ast.AST) -> bool:
    """Whether a method runs where an attribute is set."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(decorator, ast.Attribute) and decorator.attr == "setter" for decorator in node.decorator_list
    )
