"""The objects whose methods run in a map: what they were made with and inherit, and networks that are applied."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.combined import bind
from jaxmigrate.program.library import named, the
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Value,
    Values,
)

SELF = "self"  # under which bindings keep, for each class in line, the object whose method runs
APPLIED = frozenset({"apply", "init", "init_with_output"})
WRAPPERS = named("lifted")
PROPERTIES = named("property")
NETWORK = the("network")
DERIVATIVES = frozenset({"defvjp", "defjvp", "defjvps"})
Bindings = Mapping[tuple[ast.AST, str], Values]


def known_as(owner: Instance, call: ast.expr, module: Module, resolver: Resolver) -> dict[tuple[ast.AST, str], Values]:
    """What `self` is in a method that is called: nothing new where an object calls its own."""
    if owner.call is None and _is_own(call, module):
        return {}
    known = (owner,) if owner.call is not None else (UNKNOWN,)
    return {(cls.node, SELF): known for cls in resolver.lineage(owner.cls)}


def _is_own(call: ast.expr, module: Module) -> bool:
    """Whether a call is of a method of the object whose method it stands in."""
    receiver = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    if isinstance(receiver, ast.Call):
        return _is_super(receiver)
    if not isinstance(receiver, ast.Name):
        return False
    scope = module.table.scope_of[receiver].function()
    function = scope.node if scope is not None else None
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    first = next(all_parameters(function.args), None)
    return first is not None and first.arg == receiver.id


def constructor(owner: Instance, resolver: Resolver) -> Function | None:
    """The constructor of its own that an object was made by, bound to it; None where its making is not in sight."""
    if owner.call is None:
        return None
    found = resolver.attribute(Instance(owner.cls), "__init__")
    return found[0] if len(found) == 1 and isinstance(found[0], Function) else None


def attribute(node: ast.expr, module: Module, resolver: Resolver, bindings: Bindings) -> Values | None:
    """What an attribute of an object is of which it is known how it was made; None where it is not."""
    if not isinstance(node, ast.Attribute):
        return None
    owners = resolver.values(node.value, module)
    if len(owners) != 1 or not isinstance(owners[0], Instance):
        return None
    known = bindings.get((owners[0].cls.node, SELF), ()) if owners[0].call is None else owners
    if len(known) != 1 or not isinstance(known[0], Instance) or known[0].call is None:
        return None
    return _field(known[0], known[0].call, node.attr, resolver)


def _field(owner: Instance, call: Application, name: str, resolver: Resolver) -> Values:
    fields = resolver.declared_fields(owner.cls)
    if name not in fields or constructor(owner, resolver) is not None:
        found = resolver.attribute(owner, name)
        return tuple(one for value in found for one in _read(value, resolver))
    if any(one.keyword in ("*", "**") for one in call.arguments):
        return (UNKNOWN,)
    given = argument(call.arguments, fields.index(name), name)
    if given is not None:
        return resolver.argument_values(given)
    for cls in resolver.lineage(owner.cls):
        for line in cls.node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id == name:
                return resolver.values(line.value, cls.module) if line.value is not None else (UNKNOWN,)
    return (UNKNOWN,)


def _read(value: Value, resolver: Resolver) -> Values:
    """What reading an attribute gives: of a property, what its function does."""
    match value:
        case Application(callee=External(name=name), arguments=(Argument(value=Function() as getter),)):
            return resolver.returned(getter) if name in PROPERTIES else (value,)
    return (value,)


def inherited(callee: ast.expr, module: Module, resolver: Resolver) -> Values:
    """The method that `super().name` is."""
    if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Call) or not _is_super(callee.value):
        return ()
    above = module.table.parents.get(callee)
    while above is not None and not isinstance(above, ast.ClassDef):
        above = module.table.parents.get(above)
    if above is None:
        return ()
    own = Class(module, above)
    for cls in resolver.lineage(own)[1:]:
        scope = cls.module.table.own_scope[cls.node]
        if callee.attr in scope.bindings:
            return tuple(bind(v, Instance(own)) for v in resolver.name_values(callee.attr, scope, cls.module))
    return ()


def _is_super(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "super" and not call.args


def methods(owner: Instance, name: str, resolver: Resolver) -> Iterator[Function]:
    """The methods of an object that go by a name, also below the decorators of a network's."""
    for value in resolver.attribute(owner, name):
        match value:
            case Function():
                yield value
            case Application(callee=External(name=wrapper), arguments=(Argument(value=Function() as inner), *_)):
                if wrapper in WRAPPERS:
                    yield Function(inner.module, inner.node, owner)


def overriding(base: Class, method: Function, resolver: Resolver) -> tuple[Function, ...]:
    """A method as the classes have it that derive from one, of their objects."""
    return _overriding((base, method), resolver)


@once_each
def _overriding(of: tuple[Class, Function], resolver: Resolver) -> tuple[Function, ...]:
    base, method = of
    name = getattr(method.node, "name", "")
    found: list[Function] = []
    for module in resolver.project.program:
        for node in module.table.own_scope if f"def {name}(" in module.text else ():
            if not isinstance(node, ast.ClassDef) or not node.bases or node is base.node:
                continue
            cls = Class(module, node)
            if name not in module.table.own_scope[node].bindings:
                continue
            if any(one.node is base.node for one in resolver.lineage(cls)):
                own = resolver.attribute(Instance(cls), name)
                found += [one for one in own if isinstance(one, Function) and one.node is not method.node]
    return tuple(found)


def applied(call: ast.Call, module: Module, resolver: Resolver) -> Iterator[tuple[Instance, str, tuple[Argument, ...]]]:
    """The network of flax, the method of it and the arguments that `network.apply(variables, x)` runs."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in APPLIED:
        return
    first, *given = call_arguments(call, module) or (None,)
    if first is None or first.keyword is not None:
        return
    chosen = argument(given, None, "method")
    values: Iterable[Value] = resolver.argument_values(chosen) if chosen is not None else (Constant("__call__"),)
    names = {_name(value) for value in values}
    for network in resolver.values(call.func.value, module):
        if len(names) == 1 and isinstance(network, Instance) and _is_network(network, resolver):
            yield network, next(iter(names)), tuple(given)


def _is_network(made: Instance, resolver: Resolver) -> bool:
    return any(isinstance(v, External) and v.name == NETWORK for v in resolver.bases(made.cls))


def _name(value: Value) -> str:
    match value:
        case Constant(value=str() as name):
            return name
        case Function(node=ast.FunctionDef() as method):
            return method.name
    return ""


def derivatives(made: Application, resolver: Resolver) -> Iterator[Value]:
    """The rules of a function that has derivatives of its own: what `defvjp` and `defjvp` are given."""
    module = made.module
    if not any(name in module.text for name in DERIVATIVES):
        return
    for name in DERIVATIVES:
        for node in module.table.named.get(name, ()):
            if not isinstance(node, ast.Attribute) or made not in resolver.values(node.value, module):
                continue
            above = module.table.parents.get(node)
            if isinstance(above, ast.Call) and above.func is node:
                yield from (v for one in above.args for v in resolver.values(one, module))
            elif isinstance(above, ast.FunctionDef):
                yield Function(module, above)
