"""Whether what a name, an attribute or an entry was given is what it still is when it is read.

The resolver says what is written: `cfg = {"n": device_count()}`, and not that `cfg["n"] = 4` stands below.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from jaxmigrate.flow.conditions import stored_attributes
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, all_parameters
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Function, ModuleValue, Parameter

READS = frozenset({"get", "keys", "items", "values", "copy", "index", "count"})
READERS = frozenset({"print", "dict", "len", "sorted", "list", "str", "deepcopy", "dumps", "pprint"})
SETTERS = frozenset({"setattr", "__setattr__", "delattr", "__delattr__"})
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
                return inner and self._is_only_read(container, module)
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
                value = _given(target, home)
                if value is None or not self._is_alike(value, home):
                    return False
            for value in _of_classes(node.attr, home):
                if not self._is_alike(value, home):
                    return False
        names = _set_by_name(self.resolver)
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

    def _is_only_read(self, name: ast.Name, module: Module) -> bool:
        """Whether all that the program does with a container is to read its entries."""
        holder = module.table.scope_of[name].lookup(name.id)
        if holder is None:
            return False
        if holder.kind == "module" and any(
            name.id in one.text for one in self.resolver.project.program if one is not module
        ):
            return False
        uses = [one for one in module.table.named.get(name.id, ()) if isinstance(one, ast.Name)]
        own = [one for one in uses if module.table.scope_of[one].lookup(name.id) is holder]
        return all(_is_read(one, module) for one in own if isinstance(one.ctx, ast.Load))


def _is_read(name: ast.Name, module: Module) -> bool:
    """Whether a use of a container leaves it as it is, and hands it to nobody."""
    match module.table.parents.get(name):
        case ast.Subscript(ctx=ast.Load(), value=value) if value is name:
            return True
        case ast.Attribute(attr=attr) as method if attr in READS:
            call = module.table.parents.get(method)
            return isinstance(call, ast.Call) and call.func is method
        case ast.Compare() | ast.FormattedValue() | ast.keyword(arg=None):
            return True
        case ast.Call(func=ast.Name(id=known)):
            return known in READERS
    return False


def _given(target: ast.Attribute, module: Module) -> ast.expr | None:
    """What an attribute is set to by an assignment of its own; None where it is set or deleted in another way."""
    parent = module.table.parents.get(target)
    if isinstance(parent, ast.Assign) and target in parent.targets:
        return parent.value
    return parent.value if isinstance(parent, ast.AnnAssign) else None


def _of_classes(name: str, module: Module) -> Iterator[ast.expr]:
    for scope in module.table.own_scope.values():
        if scope.kind == "class":
            yield from (one.value for one in scope.bindings.get(name, ()) if one.value is not None)


@once
def _set_by_name(resolver: Resolver) -> frozenset[str]:
    """The names of attributes that the program sets as texts; with "" where some text is only known when it runs."""
    return frozenset(name for module in resolver.project.program for name in _names_set(module))


def _names_set(module: Module) -> Iterator[str]:
    for call in module.table.calls:
        known = last_name(call.func)
        if known in SETTERS and len(call.args) >= 2:
            name = call.args[-2 if known.endswith("setattr__") or known == "setattr" else -1]
            yield name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
        elif known == "exec" or (known == "vars" and _is_changed(call, module)):
            yield ""
    for node in module.table.named.get("__dict__", ()):
        if not isinstance(node.ctx, ast.Load) or _is_changed(node, module):
            yield ""


def _is_changed(names: ast.expr, module: Module) -> bool:
    """Whether the attributes of an object, as a dictionary, may be set there: it is no argument, and not only read."""
    match module.table.parents.get(names):
        case ast.Subscript(ctx=ast.Load()) | ast.Compare() | ast.keyword(arg=None):
            return False
        case ast.Attribute(attr=attr):
            return attr not in READS
        case ast.Call(func=function):
            return function is names or last_name(function) not in READERS
        case ast.For() | ast.comprehension():
            return False
    return True
