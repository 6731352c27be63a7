"""Whether what a name, an attribute or an entry was given is what it still is when it is read.

The resolver says what is written: `cfg = {"n": device_count()}`, and not that `cfg["n"] = 4` stands below.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from jaxmigrate.program.attribute_stores import stored_attributes, stored_value
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.class_attributes import class_attributes
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, all_parameters
from jaxmigrate.program.values import Function, ModuleValue, Parameter

Agrees = Callable[[ast.expr, Module], bool]


class Lasting:
    """Asks of expressions, each once; `agrees` says of what else an attribute is set to that it is the same."""

    def __init__(self, resolver: Resolver, agrees: Agrees) -> None:
        self.resolver = resolver
        self.agrees = agrees
        self._known: dict[ast.AST, bool] = {}

    def lasts(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression stands for what was written down first, and nothing that came later."""
        if node not in self._known:
            self._known[node] = True  # as far as it hangs on itself
            self._known[node] = self._lasts(node, module)
        return self._known[node]

    def _lasts(self, node: ast.expr, module: Module) -> bool:
        match node:
            case ast.Name() if node in module.table.scope_of:
                return all(self._is_kept(one, module) for one in self.resolver.bindings_at(node, module))
            case ast.Attribute():
                return self._attribute(node, module)
            case ast.Subscript(value=ast.Name() as container):
                element = self.resolver.element(node, module)
                inner = element is None or self.lasts(*element)
                return inner and self.resolver.keeps_entries(container, module)
            case ast.Subscript():
                return False
            case ast.IfExp(body=one, orelse=other):
                return self.lasts(one, module) and self.lasts(other, module)
            case ast.BoolOp(values=values):
                return all(self.lasts(one, module) for one in values)
            case ast.NamedExpr(value=value):
                return self.lasts(value, module)
        return True

    def _is_kept(self, binding: Binding, module: Module) -> bool:
        if binding.kind == "param" and isinstance(binding.scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = callers_of(self.resolver).written(Parameter(module, binding.scope.node, binding.name))
            return all(self.lasts(one, home) for one, home in given or ())
        return binding.value is None or self.lasts(binding.value, module)

    def _attribute(self, node: ast.Attribute, module: Module) -> bool:
        """Whether all that the program gives attributes of a name is the same, and none is given by reflection."""
        owners = self.resolver.values(node.value, module)
        if owners and all(isinstance(one, ModuleValue) for one in owners):
            homes = [one.module for one in owners if isinstance(one, ModuleValue)]
            bound = [(b, home) for home in homes for b in home.table.root.bindings.get(node.attr, ())]
            return all(self._is_kept(binding, home) for binding, home in bound)
        program = [one for one in self.resolver.project.program if node.attr in one.text]
        for home in program:
            for target in stored_attributes(home).get(node.attr, ()):
                value = stored_value(target, home)
                if value is None or not self._is_alike(value, home):
                    return False
        of_classes = class_attributes(self.resolver).get(node.attr, ())
        if not all(one.value is None or self._is_alike(one.value, home) for one, home in of_classes):
            return False
        names = self.resolver.set_by_name
        return node.attr not in names and not ("" in names and any(self._is_named(node.attr, home) for home in program))

    def _is_alike(self, value: ast.expr, module: Module) -> bool:
        return self.lasts(value, module) and self.agrees(value, module)

    def _is_named(self, name: str, module: Module) -> bool:
        """Whether a module says a name as a text or a keyword, by which some reflection may set an attribute."""
        return any(
            (isinstance(node, ast.keyword) and node.arg == name and not self._is_taken(name, node, module))
            or (isinstance(node, ast.Constant) and node.value == name)
            for node in module.nodes
        )

    def _is_taken(self, name: str, keyword: ast.keyword, module: Module) -> bool:
        """Whether a keyword is that of a parameter of the program's function that is called."""
        call = module.table.parents.get(keyword)
        values = self.resolver.values(call.func, module) if isinstance(call, ast.Call) else ()
        return bool(values) and all(
            isinstance(one, Function) and any(name == own.arg for own in all_parameters(one.node.args))
            for one in values
        )
