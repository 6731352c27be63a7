"""The classes of a program by name: what derives from which, and whose methods code out of sight may call."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cached_property

from jaxmigrate.flow.variance.units import last
from jaxmigrate.program.library import starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Class, External

PLAIN_BASES = frozenset(  # out of sight, and known to call no method that a class of the program has of its own
    {
        "object", "ABC", "Generic", "Protocol", "NamedTuple", "namedtuple", "TypedDict", "Enum", "IntEnum", "StrEnum",
        "Flag", "IntFlag", "Exception", "ValueError", "RuntimeError", "TrainState", "PyTreeNode", "AbstractExperiment",
        "TestCase",  # which runs its tests on the host
    }
)  # fmt: skip

# The classes of these call what derives from them on the host alone: data pipelines, tests, threads, configurations.
HOST_BASES = starting("host-base")


class ClassNames:
    """What classes of a name have and derive from, of all classes that have this name."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._methods: dict[str, set[str]] = defaultdict(set)
        self._bases: dict[str, set[str]] = defaultdict(set)
        self._host_bases: dict[str, bool] = {}  # by the last part of their names
        self._of_anything: set[str] = set()  # what classes have that may derive from any other
        self._hooked: dict[str, bool] = {}

    def note(self, node: ast.ClassDef, module: Module) -> None:
        """Takes in a class: all of them are, before anything is asked."""
        bindings = module.table.own_scope[node].bindings
        for base in node.bases:
            is_host = self._is_of_host(base, module)
            self._host_bases[last(base)] = self._host_bases.get(last(base), True) and is_host
            if not self._is_certain(base, module):
                self._of_anything |= set(bindings)
        self._methods[node.name] |= set(bindings)
        self._bases[node.name] |= {last(base) for base in node.bases}

    def is_overridden(self, cls: str, method: str) -> bool:
        """Whether a class that derives from one of this name has a method of this name of its own."""
        return method in self._of_anything or method in self._overridden.get(cls, ())

    def is_hooked(self, name: str) -> bool:
        """Whether a class has a base out of sight that may call the class's methods: it is a network, a formatter."""
        if name not in self._hooked:
            above = self._line(name) - {name} if name in self._bases else ()
            self._hooked[name] = any("Module" in base or base not in self._known_bases for base in above)
        return self._hooked[name]

    @cached_property
    def reachable(self) -> frozenset[str]:
        """The names of the classes whose objects' attributes code out of sight may read: the lines of hooked ones."""
        return frozenset(one for name in self._bases if self.is_hooked(name) for one in self._line(name))

    def _line(self, name: str) -> set[str]:
        """The names of a class and of everything that it derives from."""
        line, pending = set[str](), [name]
        while pending:
            current = pending.pop()
            if current not in line:
                line.add(current)
                pending.extend(self._bases.get(current, ()))
        return line

    @cached_property
    def _known_bases(self) -> frozenset[str]:
        """The names of the classes that call no method of what derives from them, or are in sight."""
        hosts = (base for base, is_host in self._host_bases.items() if is_host)
        return frozenset((*self._bases, *PLAIN_BASES, *hosts))

    def _is_certain(self, base: ast.expr, module: Module) -> bool:
        """Whether it is known what a base is: a class of the project or of a library, not one that a function gives."""
        inner = base.value if isinstance(base, ast.Subscript) else base
        values = self.resolver.values(inner, module) if isinstance(inner, ast.Name | ast.Attribute | ast.Call) else ()
        callees = [value.callee if isinstance(value, Application) else value for value in values]
        return bool(callees) and all(isinstance(one, Class | External) for one in callees)

    def _is_of_host(self, base: ast.expr, module: Module) -> bool:
        """Whether a base is of a library whose code never runs on devices."""
        value = self.resolver.value(base, module)
        return isinstance(value, External) and value.name.startswith(HOST_BASES)

    @cached_property
    def _overridden(self) -> dict[str, set[str]]:
        """The names of the methods that objects of classes which derive from one may have before its own, by its name.

        A class with several bases puts the others of them before it, too.
        """
        found: dict[str, set[str]] = defaultdict(set)
        for name in self._methods:
            line = self._line(name)
            for base in line - {name}:
                found[base].update(*(self._methods.get(one, ()) for one in line - self._line(base)))
        return found
