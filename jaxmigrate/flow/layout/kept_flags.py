"""Whether an attribute that a class sets in its `__init__` keeps its value, and whether values never change in place.

An attribute that goes by the same name in another class may be anything: a list of the class, a property, a descriptor.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.program.attribute_stores import stored_attributes
from jaxmigrate.program.class_attributes import class_attributes
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import Binding, defaults_of
from jaxmigrate.program.values import Class, External

PLAIN_BASES = frozenset({"builtins.object", "abc.ABC"})
PLAIN = frozenset({"bool", "int", "float", "str"})
GIVING = frozenset({f"builtins.{name}" for name in (*PLAIN, "len")})


def is_own(it: Interpreter, attribute: ast.Attribute, store: ast.Attribute, module: Module, home: Module) -> bool:
    """Whether `self.flag` is what the one `__init__` that sets it sets, and nothing a class has by that name."""
    cls, setter = _class_around(attribute, module), _class_around(store, home)
    if cls is None or setter is None or class_values(it, attribute.attr):
        return False
    lineage = it.resolver.lineage(cls)
    if all(one.node is not setter.node for one in lineage):
        return False
    if any(one.node.keywords for one in lineage):
        return False  # a metaclass
    bases = [base for one in lineage for base in it.resolver.bases(one)]
    return all(isinstance(base, Class) or (isinstance(base, External) and base.name in PLAIN_BASES) for base in bases)


def stores_of(
    it: Interpreter, attribute: ast.Attribute, module: Module, stores: list[tuple[ast.Attribute, Module]]
) -> list[tuple[ast.Attribute, Module]]:
    """Of what sets attributes of a name, what may set this one: for `self.done` what methods of its own class do."""
    if not is_self(attribute.value):
        return stores
    cls = _class_around(attribute, module)
    own = {one.node for one in it.resolver.lineage(cls)} if cls is not None else set()
    return [
        (store, where)
        for store, where in stores
        if not is_self(store.value) or ((setter := _class_around(store, where)) and setter.node in own)
    ]


def is_self(node: ast.expr) -> bool:
    """Whether an expression is a method's own object."""
    return isinstance(node, ast.Name) and node.id == "self"


def class_values(it: Interpreter, name: str) -> list[Binding]:
    """What class bodies bind to a name, but for methods: `done: bool = False`, `done = []`."""
    return [one for one, _ in class_attributes(it.resolver).get(name, ())]


def is_truth_of_class(binding: Binding) -> bool:
    """Whether a class body says that an attribute is a truth value."""
    node = binding.node
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.annotation, ast.Name) and node.annotation.id == "bool"
    return isinstance(binding.value, ast.Constant) and isinstance(binding.value.value, bool)


def is_unchanging(it: Interpreter, node: ast.expr, binding: Binding | None, module: Module) -> bool:
    """Whether a value is a number or a text, which no code changes in place; `binding` is that of a name."""
    match node:
        case ast.Constant():
            return True
        case ast.BinOp(left=left, right=right):
            return all(is_unchanging(it, one, None, module) for one in (left, right))
        case ast.Call(func=function) if function in module.table.scope_of or isinstance(function, ast.Attribute):
            value = it.resolver.value(function, module)
            name = value.name if isinstance(value, External) else ""
            return name in GIVING or name.endswith("_count")
        case ast.Name() if binding is not None and binding.kind == "param":
            return is_said_to_be(binding, PLAIN, object)
        case ast.Name() if binding is not None and binding.value is not None:
            return not isinstance(binding.value, ast.Name) and is_unchanging(it, binding.value, None, module)
    return False


def is_said_to_be(parameter: Binding, annotations: frozenset[str], kind: type) -> bool:
    """Whether a parameter is annotated with one of some types, or without such by default a constant of a kind."""
    node, function = parameter.node, parameter.scope.node
    if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name):
        return node.annotation.id in annotations
    defaults = dict(defaults_of(function.args)) if isinstance(function, ast.FunctionDef) else {}
    default = defaults.get(parameter.name)
    return isinstance(default, ast.Constant) and default.value is not None and isinstance(default.value, kind)


def _class_around(node: ast.AST, module: Module) -> Class | None:
    """The class of whose methods one holds a node."""
    above: ast.AST | None = node
    while above is not None:
        above = module.table.parents.get(above)
        if isinstance(above, ast.ClassDef):
            return Class(module, above)
    return None


@once
def stored(it: Interpreter) -> dict[str, list[tuple[ast.Attribute, Module]]]:
    """The attributes that the program sets or deletes, by name."""
    found: dict[str, list[tuple[ast.Attribute, Module]]] = {}
    for module in it.resolver.project.program:
        for name, targets in stored_attributes(module).items():
            found.setdefault(name, []).extend((target, module) for target in targets)
    return found


@once
def reflects(it: Interpreter) -> bool:
    """Whether some module sets attributes by names that are only known when it runs."""
    names = {"setattr", "__dict__", "__setattr__", "__getattribute__", "vars"}
    return any(not names.isdisjoint(module.table.named) for module in it.resolver.project.program)


@once
def bound_in_classes(it: Interpreter) -> dict[str, list[Binding]]:
    """What the class bodies of the program bind first, by name: methods, properties and values."""
    found: dict[str, list[Binding]] = {}
    for module in it.resolver.project.program:
        for scope in module.table.own_scope.values():
            for name, bindings in scope.bindings.items() if scope.kind == "class" else ():
                found.setdefault(name, []).append(bindings[0])
    return found
