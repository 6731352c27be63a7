"""Runs the bodies of modules and functions on abstract values, again and again, until nothing changes any more.

Local names are followed in the order of the statements, so that `state = replicate(state)` gives a new value; names
that some other function reads, attributes, parameters and results are one value each for the whole program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from jaxmigrate.flow.layout import assignments, expressions, frames, module_names, replaced, statements, unseen
from jaxmigrate.flow.layout.frames import Frame
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.onlookers import Onlookers, leading_names, names_in
from jaxmigrate.flow.layout.state import State
from jaxmigrate.flow.layout.survey import Survey
from jaxmigrate.flow.layout.values import NONE, Abstract, Nothing, Obj, Pin, func
from jaxmigrate.flow.variance import Var
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver, is_classmethod, is_static
from jaxmigrate.program.scopes import FunctionNode, all_parameters
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.values import Class, Function, Values

MOST_PASSES = 1000
MOST_RUNS = 60_000  # bodies interpreted, some minutes' worth


class Interpreter(State):
    """Interprets the host code of some modules."""

    def __init__(
        self,
        resolver: Resolver,
        modules: Sequence[Module],
        sites: dict[ast.expr, MappedSite],
        idioms: Idioms,
        editable: Callable[[Module], bool],
        onlookers: Onlookers,
    ) -> None:
        super().__init__(resolver, sites, idioms)
        self.onlookers = onlookers
        self.looked_for: dict[str, int] = {}
        self.globals: dict[ast.AST, dict[str, list[Abstract]]] = {}
        self.modules = list(modules)
        self.known_modules = set(modules)
        self.shared = {key for module in modules for key in module_names.shared_names(module)}
        self.rebound = {key for module in modules for key in module_names.rebound_names(module)}
        self.imported = {name for module in modules for name in module_names.imported_names(module)}
        self.assigned = {a.attr for module in modules for a in module.table.attributes}
        self.loads: set[ast.expr] = set()
        self.editable = editable
        self.final = False
        self._mentions: dict[ast.AST, set[str]] = {}
        self.free: dict[ast.AST, set[str]] = {}
        self.reflections: dict[ast.expr, Pin] = {}
        self.beyond: dict[ast.AST, Pin] = {}
        self.units: dict[ast.AST, dict[ast.Call | None, set[object]]] = {}
        self.plain_ops: set[ast.expr] = set()
        self.readings: dict[tuple[ast.expr, tuple[Var, ...], bool], tuple[Values, Var | None]] = {}
        self.runs = 0
        self.survey: Survey | None = None
        for module in self.modules:
            self.join_families(module)

    def run(self) -> bool:
        """Interprets everything until nothing changes; says whether that came to an end."""
        before: set[object] = set()
        for _ in range(MOST_PASSES):
            if self.runs > MOST_RUNS:
                return False
            self.changed = False
            self.dirty = set()
            for module in list(self.modules):
                self._again(module, before)
            for function in list(self.functions.values()):
                for context in list(self.contexts.get(function.node, (None,))):
                    self._again(function, before, context)
            before = self.dirty
            if not self.changed:
                names = self._join_onlookers()
                if not self.changed:
                    unseen.start_uncalled(self, names)
                if not self.changed:
                    unseen.sweep(self)
            if not self.changed and self.final:
                return True
            if not self.changed:
                self.final = True
                self.units.clear()
        return False

    def _join_onlookers(self) -> set[str]:
        """Takes in modules that can reach what is stacked, by names that it gives, or change what it depends on."""
        names, holders = leading_names(self)
        joined = {m.path for m in self.modules}
        for module in self.onlookers.naming(joined, holders):
            self.join_module(module)
        for module in self.onlookers.replacing(joined):
            replaced.note_in(self, module)
        unseen.use_from_unread(self)
        return names

    def _again(self, unit: Module | Function, before: set[object], context: ast.Call | None = None) -> None:
        """Runs a module or a function unless nothing that it read has changed."""
        units = self.units.setdefault(unit.tree if isinstance(unit, Module) else unit.node, {})
        known = units.get(context)
        if known is not None and known.isdisjoint(before) and known.isdisjoint(self.dirty):
            return
        self.runs += 1
        self.reads = set()
        if isinstance(unit, Module):
            self.module_body(unit)
        else:
            self.function_body(unit, context)
        units[context] = self.reads

    def join_module(self, module: Module) -> None:
        """Takes in another module of the project whose functions are called."""
        if module in self.known_modules:
            return
        self.known_modules.add(module)
        self.modules.append(module)
        self.join_families(module)
        self.shared |= module_names.shared_names(module)
        self.rebound |= module_names.rebound_names(module)
        imported = module_names.imported_names(module)
        assigned = {a.attr for a in module.table.attributes}
        fresh = (imported - self.imported) | (assigned - self.assigned)
        self.imported |= imported
        self.assigned |= assigned
        self.changed = True
        for other in self.modules:  # whose variables are now seen from elsewhere
            if not fresh.isdisjoint(other.table.root.bindings):
                self.units.pop(other.tree, None)

    def names_in(self, node: ast.AST) -> set[str]:
        """Every name in a body."""
        if node not in self._mentions:
            self._mentions[node] = names_in(node)
        return self._mentions[node]

    # Bodies

    def module_body(self, module: Module) -> None:
        """Runs a module's own statements."""
        frame = Frame(module, module.table.root, None, {})
        statements.block(self, module.tree.body, frame)

    def function_body(self, function: Function, context: ast.Call | None) -> None:
        """Runs a function with what its callers give it, or one call of them."""
        node, module = function.node, function.module
        scope = module.table.own_scope[node]
        frame = Frame(module, scope, function, {}, context)
        parameters = list(all_parameters(node.args))
        for index, parameter in enumerate(parameters):
            value = self.load(("parameter", node, parameter.arg, context))
            if index == 0 and (receiver := self._receiver(function)) is not None:
                value = receiver
            frames.assign_name(self, parameter.arg, value, parameter, frame)
        if isinstance(node, ast.Lambda):
            self.returned(node, expressions.evaluate(self, node.body, frame), node.body, frame)
            return
        statements.block(self, node.body, frame)
        if frame.env is not None:
            self.returned(node, NONE, node, frame)

    def _receiver(self, function: Function) -> Abstract | None:
        scope = function.module.table.scope_of[function.node]
        if scope.kind != "class" or isinstance(function.node, ast.Lambda) or is_static(function.node):
            return None
        cls = Class(function.module, scope.node)  # type: ignore[arg-type]
        return func(cls) if is_classmethod(function.node) else Obj(cls)

    def returned(self, node: FunctionNode, value: Abstract, where: ast.AST, frame: Frame) -> None:
        """Adds to what a function returns."""
        key = ("return", node, frame.context)
        self.store(key, value, where, frame.module)
        if ("returns pinned", node) in self.variables and not isinstance(value, Nothing):
            self.pin(self.load(key), Pin("is returned to callers that fix cannot see", frame.module, where))
        if node in self.uncalled:
            self.lean([self.load(key)], self.uncalled[node])

    def assign(self, target: ast.expr, value: Abstract, node: ast.AST, frame: Frame) -> None:
        """Binds a target to a value; that of a comprehension can be any, too."""
        assignments.assign(self, target, value, node, frame)

    def mark_loads(self, node: ast.AST) -> None:
        """Notes that the names in an expression or statement were looked at."""
        self.loads.update(n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))

    def receives(self, function: Function) -> bool:
        """Whether a function's first parameter is the object or class that it is called on."""
        return self._receiver(function) is not None and (function.receiver is not None or is_classmethod(function.node))
