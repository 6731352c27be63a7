"""Methods that their decorator maps over devices: `@partial(jax.pmap, axis_name="data") def update(self, batch)`.

The map's first argument is the object that they are called on: `model.update(batch)`.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable

from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.program.functions import is_classmethod, is_static
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import Class, Function


class MappedMethods:
    """Answers whether a call is of a method that some device maps are of."""

    def __init__(self, maps: Iterable[DeviceMap], resolver: Resolver) -> None:
        self.resolver = resolver
        self._owners: dict[str, list[Class]] = defaultdict(list)
        for found in maps:
            cls = _owner(found.function)
            if cls is not None and not isinstance(found.function.node, ast.Lambda):
                self._owners[found.function.node.name].append(cls)

    def is_called(self, call: ast.Call, module: Module, function: Function | None = None) -> bool:
        """Whether a call is of a mapped method of an object, or of this one."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in self._owners:
            return False
        owners = self._owners[call.func.attr] if function is None else [_owner(function)]
        return any(cls is not None and self.is_of(call.func.value, module, cls) for cls in owners)

    def names(self, function: Function) -> str | None:
        """The name of the method that a function is; None where it is none."""
        return None if isinstance(function.node, ast.Lambda) or _owner(function) is None else function.node.name

    def is_of(self, node: ast.expr, module: Module, cls: Class) -> bool:
        """Whether one of the assignments of a variable or an attribute makes an object of a class."""
        match node:
            case ast.Name(id=name):
                bindings = self.resolver.bindings(name, module.table.scope_of[node])
                return any(self._binds(binding, module, cls) for binding in bindings)
            case ast.Attribute(attr=name):
                return any(self._makes(a.value, module, cls) for a in module.table.attributes if a.attr == name)
        return self._makes(node, module, cls)

    def _binds(self, binding: Binding, module: Module, cls: Class) -> bool:
        if isinstance(binding.node, ast.arg):
            annotation, above = binding.node.annotation, binding.scope.parent
            own = above is not None and above.node is cls.node and binding.node in _first(binding.scope.node)
            return own or (annotation is not None and self.resolver.value(annotation, module) == cls)
        return binding.value is not None and not binding.path and self._makes(binding.value, module, cls)

    def _makes(self, node: ast.expr, module: Module, cls: Class) -> bool:
        """Whether an expression calls a class, one made of it, or one of its class methods."""
        if not isinstance(node, ast.Call):
            return False
        match self.resolver.value(node.func, module):
            case Class() as made:
                return any(one.node is cls.node for one in self.resolver.lineage(made))
            case Function(node=ast.FunctionDef() as maker, module=home) if is_classmethod(maker):
                above = home.table.own_scope[maker].parent
                return above is not None and above.node is cls.node
        return False


def _owner(function: Function) -> Class | None:
    """The class of a method that has decorators and takes its object."""
    node = function.node
    if not isinstance(node, ast.FunctionDef) or not node.decorator_list or is_static(node) or is_classmethod(node):
        return None
    above = function.module.table.own_scope[node].parent
    return Class(function.module, above.node) if above is not None and isinstance(above.node, ast.ClassDef) else None


def _first(function: ast.AST) -> list[ast.arg]:
    """The first parameter of a function."""
    return [*function.args.posonlyargs, *function.args.args][:1] if isinstance(function, ast.FunctionDef) else []
