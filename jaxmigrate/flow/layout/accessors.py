"""Setters of properties: what runs where an attribute of an object is set.

A setter is followed as any method that is called, where all that a class says of a name is `@property` and, below it,
`@name.setter`. It is run with anything where an attribute of that name is set of an object that is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.layout import class_index
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, given_of
from jaxmigrate.flow.layout.values import Abstract, Blocker
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import Class, Function, Instance


@once
def _followed(_it: Interpreter) -> dict[ast.AST, tuple[Function, Class, str]]:
    """The setters that are run where attributes are set, with their class and the name of the attribute."""
    return {}


def is_followed_setter(it: Interpreter, binding: Binding, holder: Class) -> bool:
    """Whether a method is the setter of a property of the same class, which reading the attribute does not run."""
    node = binding.node
    if not isinstance(node, ast.FunctionDef) or not _is_setter(node, node.name):
        return False
    before, *others = [b.node for b in holder.module.table.own_scope[holder.node].bindings[node.name]]
    is_getter = isinstance(before, ast.FunctionDef) and _is_property(it, before, holder.module)
    return is_getter and others == [node] and node in holder.node.body and before in holder.node.body


def set_of(it: Interpreter, cls: Class, name: str, value: Abstract, target: ast.expr, frame: Frame) -> None:
    """Runs what an object's class, or one that derives from it, has for setting an attribute."""
    for holder in class_index.holders(it, cls, name):
        for binding in holder.module.table.own_scope[holder.node].bindings.get(name, []):
            if is_followed_setter(it, binding, holder):
                assert isinstance(binding.node, ast.FunctionDef)
                function = Function(holder.module, binding.node, Instance(holder))
                _followed(it).setdefault(binding.node, (function, holder, name))
                it.call_function(function, given_of([value]), target, frame)
            elif _may_set(it, binding, holder.module):
                it.block_all(
                    [value],
                    Stacked.REACHABLE.reason("is stored in an attribute that fix cannot follow"),
                    target,
                    frame.module,
                )


def sweep(it: Interpreter) -> None:
    """Setters may be run with anything where objects are set attributes of that nobody knows."""
    for function, holder, name in list(_followed(it).values()):
        blocker = it.blockers.blocked_classes.get(it.root(holder)) or next(_set_unseen(it, name), None)
        if blocker is not None:
            it.call_unseen(function, blocker)


def _set_unseen(it: Interpreter, name: str) -> Iterator[Blocker]:
    for module in (m for m in it.modules if name in m.text):
        for node in module.nodes:
            is_set = isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load)
            if is_set and node not in it.looks.known_targets:
                yield Blocker(
                    Stacked.REACHABLE.reason("is stored in an attribute of an object that fix cannot identify"),
                    module,
                    node,
                )


def _may_set(it: Interpreter, binding: Binding, module: Module) -> bool:
    """Whether what a class has of a name may run code where its objects are set it."""
    if isinstance(binding.node, ast.FunctionDef):
        return any(isinstance(d, ast.Attribute) and d.attr == "setter" for d in binding.node.decorator_list)
    return isinstance(binding.value, ast.Call) and _names_property(it, binding.value.func, module)


def _is_setter(node: ast.FunctionDef, name: str) -> bool:
    return [ast.unparse(d) for d in node.decorator_list] == [f"{name}.setter"]


def _is_property(it: Interpreter, node: ast.FunctionDef, module: Module) -> bool:
    return len(node.decorator_list) == 1 and _names_property(it, node.decorator_list[0], module)


def _names_property(it: Interpreter, node: ast.expr, module: Module) -> bool:
    """Whether an expression is Python's own `property`."""
    return it.idioms.external(node, module) == "builtins.property"
