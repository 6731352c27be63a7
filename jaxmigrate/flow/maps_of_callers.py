"""What a program's own function or method that maps is given to map, call by call: `self.pmap(self._step)`.

A map of a parameter is one map for each call that passes something for it, with the rest of what that call passes in
place. A map of a method that its class leaves to others is one for each class that has it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.factories import is_come_to
from jaxmigrate.flow.receivers import overriding
from jaxmigrate.flow.wrappers import Given, filled
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.functions import is_abstract, is_static, returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, defaults_of
from jaxmigrate.program.values import (
    Application,
    Argument,
    Class,
    External,
    Function,
    Instance,
    ModuleValue,
    Parameter,
    Partial,
)
from jaxmigrate.records import replace

NAMING = ("axis_name", "mesh")
DEEPEST = 3  # functions that pass on what they are given to map
MOST_CALLS = 24


class Use(NamedTuple):
    """A call of a function, or what it decorates, with what its parameters stand for, and those around it."""

    node: ast.expr
    module: Module
    given: Given


class MapsOfCallers:
    """Answers for the maps of one program."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._uses: dict[ast.AST, tuple[Use, ...]] = {}

    def of(self, mapping: Application, depth: int = DEEPEST) -> Iterator[Application]:
        """A map of what is not known where it stands, or over such an axis, as each call of its function has it."""
        parameter = self._parameter(mapping)
        if parameter is None or depth == 0:
            return
        for use in self.uses(parameter.function, parameter.module):
            call = self.resolver.value(use.node, use.module)
            if isinstance(call, Application) and not is_come_to(mapping.node, mapping.module, call, self.resolver):
                continue
            made = filled(mapping, use.given, self.resolver)
            if isinstance(made, Application) and made != mapping:
                known = self._parameter(made)
                if known is None:
                    yield replace(made, node=use.node, module=use.module)
                elif known != parameter:
                    yield from self.of(made, depth - 1)

    def _parameter(self, mapping: Application) -> Parameter | None:
        """The parameter that a map is of, whatever is around it, or that names its axis or mesh."""
        given = argument(mapping.arguments, 0, "fun", "f")
        for _ in range(DEEPEST):
            values = self.resolver.argument_values(given) if given is not None else ()
            match values:
                case (Parameter() as found,):
                    return found
                case (Partial(callee=Parameter() as found),):
                    return found
                case (Application(callee=External(), arguments=(given, *_)),):
                    continue
            break
        for one in mapping.arguments:
            if one.keyword in NAMING:
                values = self.resolver.argument_values(one)
                if len(values) == 1 and isinstance(values[0], Parameter):
                    return values[0]
        return None

    def uses(self, function: FunctionNode, home: Module) -> tuple[Use, ...]:
        """The calls of a function, and what it decorates, as far as they are in sight."""
        if function not in self._uses:
            self._uses[function] = ()  # for what calls itself
            found = {use.node: use for use in self._found(function, home)}
            self._uses[function] = tuple(found.values())[:MOST_CALLS]
        return self._uses[function]

    def _found(self, function: FunctionNode, home: Module) -> Iterator[Use]:
        if isinstance(function, ast.AsyncFunctionDef):
            return
        scope = home.table.own_scope[function]
        cls = scope.parent.node if scope.parent is not None and isinstance(scope.parent.node, ast.ClassDef) else None
        name = _name(function, home)
        if cls is not None and name == "__init__":
            name = cls.name
        for node, module in self._mentions(name):
            if self._means(node, module, function, cls):
                skip = int(cls is not None and not is_static(function))
                yield from self._called(node, module, Function(home, function), skip)
        yield from self._of_closures(function, home)

    def _of_closures(self, function: FunctionNode, home: Module) -> Iterator[Use]:
        """The calls of a function that another one makes and returns: `parallel(axis)(step)`."""
        around = home.table.scope_of[function].function()
        maker = around.node if around is not None else None
        if not isinstance(maker, ast.FunctionDef) or not _returns(maker, function):
            return
        for made in self.uses(maker, home):
            for one in self._called(made.node, made.module, Function(home, function), 0):
                yield one._replace(given={**made.given, **one.given})

    def _mentions(self, name: str) -> Iterator[tuple[ast.expr, Module]]:
        for module in self.resolver.project.program if name else ():
            if "table" in vars(module) or name in module.text:
                yield from ((node, module) for node in module.table.named.get(name, ()))

    def _means(self, node: ast.expr, module: Module, function: FunctionNode, cls: ast.ClassDef | None) -> bool:
        """Whether a name or an attribute is the function: for certain, or as the only method of that name."""
        values = self.resolver.values(node, module)
        for value in values:
            if isinstance(value, Function | Class) and value.node in (function, cls):
                return True
        if cls is None or isinstance(function, ast.Lambda) or not isinstance(node, ast.Attribute):
            return False
        owners = self.resolver.values(node.value, module)
        known = (External, ModuleValue, Class, Instance, Function)
        return not any(isinstance(one, known) for one in owners) and _is_only(function.name, self.resolver)

    def _called(self, node: ast.expr, module: Module, function: Function, skip: int) -> Iterator[Use]:
        """The call of an expression, by a partial, too, or what it decorates."""
        above, at = module.table.parents.get(node), node
        bound: tuple[Argument, ...] = ()
        if isinstance(above, ast.Call) and above.args[:1] == [node] and self._is_partial(above, module):
            bound, at = call_arguments(above, module)[1:], above
            above = module.table.parents.get(above)
        if isinstance(above, ast.FunctionDef) and at in above.decorator_list:
            mapped = Argument(None, None, module, Function(module, above))
            given = self._given(function, (mapped, *bound), skip)
        elif isinstance(above, ast.Call) and above.func is at:
            given = self._given(function, (*bound, *call_arguments(above, module)), skip)
            at = above
        else:
            return
        if given is not None:
            yield Use(at, module, given)

    def _is_partial(self, call: ast.Call, module: Module) -> bool:
        callee = self.resolver.value(call.func, module)
        return isinstance(callee, External) and callee.name in PARTIALS

    def _given(self, function: Function, arguments: tuple[Argument, ...], skip: int) -> Given | None:
        """What the parameters of a function stand for in a call; None where a star hides some of it."""
        if any(one.keyword in ("*", "**") for one in arguments):
            return None
        spec, node = function.node.args, function.node
        positional = [one for one in arguments if one.keyword is None]
        named = {one.keyword: one for one in arguments if one.keyword is not None}
        taken = passed(spec, positional, named, skip)
        found: dict[str, tuple[Argument, ...]] = {
            name: (Argument(None, default, function.module),) for name, default in defaults_of(spec)
        }
        found |= {name: (one,) for name, one in taken.known.items()}
        if spec.vararg is not None:
            found[spec.vararg.arg] = tuple(taken.extra)
        if spec.kwarg is not None:
            found[spec.kwarg.arg] = tuple(taken.others.values())
        return {(node, name): one for name, one in found.items()}

    def overriding(self, mapping: Application, method: Function) -> Iterator[Application]:
        """A map of a method that its class leaves to others, as each class has it that derives from that one."""
        owner, node = method.receiver, method.node
        given = argument(mapping.arguments, 0, "fun", "f")
        if given is None or self.resolver.argument_values(given) != (method,) or not isinstance(owner, Instance):
            return
        if owner.call is not None or not isinstance(node, ast.FunctionDef) or not is_abstract(node):
            return
        for own in overriding(owner.cls, method, self.resolver):
            arguments = tuple(replace(one, value=own) if one is given else one for one in mapping.arguments)
            made = replace(mapping, arguments=arguments)
            yield from self.of(made) if self._parameter(made) is not None else [made]


@once
def maps_of_callers(resolver: Resolver) -> MapsOfCallers:
    """The maps of a program's callers, for all who ask the same resolver."""
    return MapsOfCallers(resolver)


def _name(function: FunctionNode, home: Module) -> str:
    """The name of a function; of a lambda the one that it is assigned to."""
    if not isinstance(function, ast.Lambda):
        return function.name
    above = home.table.parents.get(function)
    target = above.targets[0] if isinstance(above, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""


def _returns(maker: ast.FunctionDef, function: FunctionNode) -> bool:
    if isinstance(function, ast.Lambda):
        return function in returned_by(maker)
    return any(isinstance(one, ast.Name) and one.id == function.name for one in returned_by(maker))


def _is_only(name: str, resolver: Resolver) -> bool:
    """Whether one class or module alone has a function of a name."""
    return sum(module.text.count(f"def {name}(") for module in resolver.project.program) == 1
