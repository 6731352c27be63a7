"""What host code is interpreted with: its modules and their state, and the transfer functions by kind of node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.model import Frame, Given, Place
from jaxmigrate.flow.layout.reachable_modules import ReachableModules, names_in
from jaxmigrate.flow.layout.state import State
from jaxmigrate.flow.layout.stores import SharedNames
from jaxmigrate.flow.layout.values import (
    CALLS,
    NOTHING,
    PLAIN,
    Abstract,
    Blocker,
    Dct,
    Nothing,
    Obj,
    Seq,
    Tup,
    boxes_in,
    func,
)
from jaxmigrate.program.functions import is_classmethod, is_static
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.values import Class, Function


@dataclass(frozen=True)
class Transfers:
    """The transfer functions that others are written in terms of, each of whose files knows no more than an evaluator.

    `expressions` gives a value by kind of node, `other` that of all other kinds; `call` calls a value, `enter` a
    function of the project; `assign` binds a target; `method` gives an attribute of the objects of a class.
    """

    expressions: Mapping[type[ast.expr], Callable[[Interpreter, Any, Frame], Abstract]]
    other: Callable[[Interpreter, ast.expr, Frame], Abstract]
    call: Callable[[Interpreter, Abstract, Given, ast.expr, Frame], Abstract]
    enter: Callable[[Interpreter, Function, Given, ast.expr, Frame], Abstract]
    assign: Callable[[Interpreter, ast.expr, Abstract, ast.AST, Frame], None]
    method: Callable[[Interpreter, Class, str, ast.expr, Frame], Abstract]


@dataclass(frozen=True)
class HostCode:
    """The host code that is interpreted: modules with mapped sites, and what names stand for in them.

    `editable` says which modules may change; `reachable` are those that join where they name something that leads to
    stacked arrays. `every_branch`: branches that no call in sight takes are followed as well. `parted` are dictionaries
    among the results of sites whose entries have layouts of their own, by their places. `on_fewer` keeps what followed
    it as it runs on fewer devices.
    """

    resolver: Resolver
    modules: Sequence[Module]
    sites: Mapping[ast.expr, MappedSite]
    editable: Callable[[Module], bool]
    reachable: ReachableModules
    every_branch: bool = False
    parted: frozenset[tuple[ast.expr, Place]] = frozenset()
    on_fewer: dict[object, object] = field(default_factory=dict, compare=False)


class Interpreter(State):
    """Interprets the host code of some modules: the evaluator that transfer functions are given."""

    def __init__(self, transfers: Transfers, code: HostCode, idioms: Idioms) -> None:
        super().__init__(code.resolver, code.sites, idioms)
        self.transfers = transfers
        self.reachable = code.reachable
        self.modules = list(code.modules)
        self.scope = SharedNames(self.modules, code.resolver.project)
        self.editable = code.editable
        self.final = False
        self.every_branch = code.every_branch
        self.parted = code.parted
        self.left_out: dict[ast.stmt, Module] = {}  # the first statements of branches that no call in sight takes
        for module in self.modules:
            self.join_families(module)

    # What the transfer functions give

    def evaluate(self, node: ast.expr, frame: Frame) -> Abstract:
        """The value of an expression; what it does to variables is done.

        What has had no value when nothing changed any more comes about in a way that fix cannot follow.
        """
        value = self.transfers.expressions.get(type(node), self.transfers.other)(self, node, frame)
        if self.devices is not None and self.devices.evaluated is not None:
            self.devices.evaluated.add(node)
        if isinstance(value, Seq | Dct | Tup):
            self.reads.update(("box", id(box)) for box in boxes_in(value))
        return PLAIN if self.final and value == NOTHING and not isinstance(node, ast.Name) else value

    def call_value(self, callee: Abstract, given: Given, node: ast.expr, frame: Frame) -> Abstract:
        """The value of calling any of the things that a callee can be."""
        return self.transfers.call(self, callee, given, node, frame)

    def call_function(self, function: Function, given: Given, node: ast.expr, frame: Frame) -> Abstract:
        """Calls a function of the project: an idiom is what it does, others get what they are given."""
        return self.transfers.enter(self, function, given, node, frame)

    def assign(self, target: ast.expr, value: Abstract, node: ast.AST, frame: Frame) -> None:
        """Binds a target to a value."""
        self.transfers.assign(self, target, value, node, frame)

    # Modules

    def join_module(self, module: Module) -> None:
        """Takes in another module of the project whose functions are called."""
        if module in self.scope.known_modules:
            return
        self.modules.append(module)
        self.join_families(module)
        fresh = self.scope.join(module)
        self.changed = True
        for other in self.modules:  # whose variables are now seen from elsewhere
            if not fresh.isdisjoint(other.table.root.bindings):
                self.bodies.units.pop(other.tree, None)

    def names_in(self, node: ast.AST) -> set[str]:
        """Every name in a body."""
        return _names_in(node, self.resolver)

    def receiver(self, function: Function) -> Abstract | None:
        """The object or class that a method is called on; None of any other function."""
        scope = function.module.table.scope_of[function.node]
        if scope.kind != "class" or isinstance(function.node, ast.Lambda) or is_static(function.node):
            return None
        cls = Class(function.module, scope.node)  # type: ignore[arg-type]
        return func(cls) if is_classmethod(function.node) else Obj(cls)

    def returned(self, node: FunctionNode, value: Abstract, where: ast.AST, frame: Frame) -> None:
        """Adds to what a function returns."""
        key = ("return", node, frame.context)
        self.store(key, value, where, frame.module)
        if ("returns blocked", node) in self.variables and not isinstance(value, Nothing):
            blocker = Blocker(
                Stacked.NOT_VISIBLE.reason("is returned to callers that fix cannot see"),
                frame.module,
                where,
                remedy=CALLS,
            )
            self.block(self.load(key), blocker)
        if node in self.assumed.uncalled:
            self.lean([self.load(key)], self.assumed.uncalled[node])

    def mark_loads(self, node: ast.AST) -> None:
        """Notes that the names in an expression or statement were looked at."""
        self.looks.loads.update(n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))

    def receives(self, function: Function) -> bool:
        """Whether a function's first parameter is the object or class that it is called on."""
        return self.receiver(function) is not None and (function.receiver is not None or is_classmethod(function.node))


@once_each
def _names_in(node: ast.AST, _resolver: Resolver) -> set[str]:
    return names_in(node)
