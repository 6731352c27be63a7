"""What the callers of a function pass for a parameter, for functions that an inner one captures from a factory."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.carried import Carried
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.functions import is_static
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.passing import passed
from jaxmigrate.program.remade_objects import remakes_objects
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.values import UNKNOWN, Argument, Class, External, Function, Parameter, Value, Values

DEEPEST = 4
PARTIALS = named("partial")
REST = "..."  # stands for what is passed to a partial later
_LONGEST = 200  # characters of a name that counts
_FIRST, _LAST = re.compile(r" *(\w+)"), re.compile(r"(\w+) *$")


class Callers:
    """Answers from all calls in the modules that were named; answers are kept."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._calls: dict[ast.AST, list[tuple[Argument, ...]] | None] = {}
        self._passed: dict[tuple[ast.AST, str, int], Values] = {}
        self._renamed: set[str] | None = None
        self._carried = Carried(resolver)

    def passed(self, parameter: Parameter, depth: int = 0) -> Values:
        """All that a parameter can stand for; UNKNOWN where some calls of its function are not in sight."""
        key = (parameter.function, parameter.name, depth)
        if key not in self._passed:
            self._passed[key] = self._found(parameter, depth)
        return self._passed[key]

    def written(self, parameter: Parameter) -> list[tuple[ast.expr, Module]] | None:
        """What the calls of a function write for a parameter; None where some are not in sight, or leave it out."""
        function = parameter.function
        if isinstance(function, ast.Lambda):
            return None
        if function not in self._calls:
            self._calls[function] = self._of(function, parameter.module)
        found: list[tuple[ast.expr, Module]] = []
        for arguments in self._calls[function] or ():
            given = self._argument(parameter, function, arguments)
            if given is None or given.expression is None:
                return None
            found.append((given.expression, given.module))
        return found or None

    def held(self, cls: Class, name: str) -> Values:
        """What all calls of a class that are in sight give a field that it declares; UNKNOWN where none is."""
        key = (cls.node, name, 0)
        if key not in self._passed:
            self._passed[key] = (UNKNOWN,)  # for what leads back to itself
            found = [value for given in self._constructions(cls) for value in self._of_field(cls, name, given)]
            self._passed[key] = tuple(dict.fromkeys(found)) or (UNKNOWN,)
        return self._passed[key]

    def _constructions(self, cls: Class) -> Iterator[tuple[Argument, ...]]:
        for node, module in self._mentions(cls.node.name):
            call = module.table.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node and cls in self.resolver.values(node, module):
                yield call_arguments(call, module)

    def _of_field(self, cls: Class, name: str, arguments: tuple[Argument, ...]) -> Values:
        fields = self.resolver.declared_fields(cls)
        if name not in fields or any(a.keyword in ("*", "**") for a in arguments):
            return (UNKNOWN,)
        given = argument(arguments, fields.index(name), name)
        values = (UNKNOWN,) if given is None else self.resolver.argument_values(given)
        each = (self.passed(one, 1) if isinstance(one, Parameter) else (one,) for one in values)
        return tuple(value for several in each for value in several)

    def _found(self, parameter: Parameter, depth: int) -> Values:
        function = parameter.function
        if isinstance(function, ast.Lambda) or depth > DEEPEST:
            return (UNKNOWN,)
        if function not in self._calls:
            self._calls[function] = self._of(function, parameter.module)
        calls = self._calls[function]
        if not calls:
            return (UNKNOWN,)
        found: dict[Value, None] = {}
        for arguments in calls:
            for value in self._given(parameter, function, arguments):
                values = self.passed(value, depth + 1) if isinstance(value, Parameter) else (value,)
                found |= dict.fromkeys(values)
        return tuple(found)

    def _of(self, function: ast.FunctionDef | ast.AsyncFunctionDef, home: Module) -> list[tuple[Argument, ...]] | None:
        """The arguments of every call of a function; None where it is used in another way, too."""
        found: list[tuple[Argument, ...]] = []
        name, cls = function.name, self._constructed_by(function, home)
        if cls is not None:
            name = cls.name
        if self._is_renamed(name) or (cls is not None and remakes_objects(self.resolver)):
            return None
        for node, module in self._mentions(name):
            values = self.resolver.values(node, module)
            if not any(isinstance(v, Function | Class) and v.node in (function, cls) for v in values):
                if UNKNOWN in values or not values:
                    return None
                continue
            call = module.table.parents.get(node)
            if isinstance(call, ast.FunctionDef) and node in call.decorator_list[-1:]:
                found.append((Argument(None, None, module, Function(module, call)),))
                continue
            bound = self._bound(call, node, module)
            if bound is not None:
                found.append((*bound, Argument(REST, None, module)))
                continue
            calls = self._carried.calls(node, module)
            if calls is None:
                return None
            found += [call_arguments(call, where) for call, where in calls]
        return found

    def _bound(self, call: ast.AST | None, node: ast.expr, module: Module) -> tuple[Argument, ...] | None:
        """What a partial of a function binds by position, which no call of it replaces; None of anything else."""
        if not isinstance(call, ast.Call) or call.args[:1] != [node]:
            return None
        values = self.resolver.values(call.func, module)
        if not values or not all(isinstance(v, External) and v.name in PARTIALS for v in values):
            return None
        arguments = call_arguments(call, module)[1:]
        known = [one for one in arguments if one.keyword is None]
        return tuple(known) if all(one.keyword != "*" for one in arguments) else ()

    def _constructed_by(self, function: ast.FunctionDef | ast.AsyncFunctionDef, home: Module) -> ast.ClassDef | None:
        """The class whose objects an `__init__` sets up, if it stands in a module that was named."""
        if function.name != "__init__" or home not in self.resolver.project.program:
            return None
        node = home.table.scope_of[function].node
        return node if isinstance(node, ast.ClassDef) else None

    def _is_renamed(self, name: str) -> bool:
        """Whether some import may give a name another one."""
        if self._renamed is None:
            found = (pair for module in self.resolver.project.program for pair in _renamings(module.text))
            self._renamed = {one for one, other in found if one != other}
        return name in self._renamed

    def _mentions(self, name: str) -> Iterator[tuple[ast.Name | ast.Attribute, Module]]:
        for module in self.resolver.project.program:
            if "table" in vars(module) or name in module.text:  # whose scopes are made need not be searched
                yield from ((node, module) for node in module.table.named.get(name, ()))

    def _given(
        self, parameter: Parameter, function: ast.FunctionDef | ast.AsyncFunctionDef, arguments: tuple[Argument, ...]
    ) -> Values:
        """What one call passes for a parameter, its default included."""
        if any(a.keyword in ("*", "**") for a in arguments):
            return (UNKNOWN,)
        partly = any(a.keyword == REST for a in arguments)
        given = self._argument(parameter, function, tuple(a for a in arguments if a.keyword != REST))
        if given is not None:
            return self.resolver.argument_values(given)
        if partly:
            return (UNKNOWN,)
        default = dict(defaults_of(function.args)).get(parameter.name)
        return self.resolver.values(default, parameter.module) if default is not None else (UNKNOWN,)

    @staticmethod
    def _argument(
        parameter: Parameter, function: ast.FunctionDef | ast.AsyncFunctionDef, arguments: tuple[Argument, ...]
    ) -> Argument | None:
        """The argument of a call that a parameter gets; none where stars may hide it."""
        scope = parameter.module.table.own_scope.get(function)
        method = scope is not None and scope.parent is not None and scope.parent.kind == "class"
        method = method and not is_static(function)
        positional = [a for a in arguments if a.keyword is None]
        named = {a.keyword: a for a in arguments if a.keyword not in (None, "*", "**")}
        if len(positional) + len(named) < len(arguments):
            return None
        return passed(function.args, positional, named, int(method)).known.get(parameter.name)


def _renamings(text: str) -> Iterator[tuple[str, str]]:
    """What stands before and behind each `as` of a text; a pattern that begins with a word is tried at every one."""
    parts = text.replace("\t", " ").split(" as ")
    for before, behind in pairwise(parts):
        one, other = _LAST.search(before[-_LONGEST:]), _FIRST.match(behind)
        if one is not None and other is not None:
            yield one[1], other[1]


@once
def callers_of(resolver: Resolver) -> Callers:
    """The callers of a project's functions, for all who ask the same resolver."""
    return Callers(resolver)
