"""Runs a program without its numbers: statement by statement, with shapes for arrays.

What stands behind a condition that is not known runs on each of its ways, and nothing is noted there: what is told,
happens whenever the code runs at all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from jaxmigrate.flow.shapes import expressions, objects
from jaxmigrate.flow.shapes.arrays import MisfitError
from jaxmigrate.flow.shapes.running import Run
from jaxmigrate.flow.shapes.values import (
    UNKNOWN,
    Class,
    Closure,
    Dim,
    Frame,
    Given,
    Mesh,
    Object,
    Thing,
    is_container,
    joined,
    placed,
)
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, children
from jaxmigrate.program.syntax import is_main_guard

MOST_STEPS = 12_000  # expressions that are looked at for a module
DEEPEST = 12  # calls within one another
LONGEST_LOOP = 16
SETTERS = named("sets-mesh")
SIMULATED = re.compile(r"--xla_force_host_platform_device_count=(\d+)|jax_num_cpu_devices\W+(\d+)")


class Noted(NamedTuple):
    """Shapes that do not fit: where, and what is said of it."""

    module: Module
    node: ast.expr
    message: str


class TooLongError(Exception):
    """The module is too long to be run."""


class Interpreter(Run):
    """What is known while a program runs: the names, the mesh in context, the axes that maps have bound."""

    def __init__(self, resolver: Resolver, apply: Callable[..., Thing]) -> None:
        self.resolver = resolver
        self._apply = apply
        self.noted: dict[ast.expr, Noted] = {}
        self.quiet = 0
        self.steps = 0
        self.depth = 0
        self.context: Thing = None  # the mesh that is set, UNKNOWN where it is not known
        self.axes: dict[str, Dim] = {}
        self.simulated: Dim = None
        self.checked: frozenset[str] = frozenset()
        self.spoiled: dict[int, Thing] = {}
        self.entered: set[ast.AST] = set()
        self.compiling = 0
        self.entered_others = 0
        self._generators: dict[ast.AST, bool] = {}
        self.first_meshes: dict[int, tuple[Thing, Mesh]] = {}
        self._handlers: Mapping[type[ast.stmt], Callable[..., bool | None]] = {
            ast.FunctionDef: self._define,
            ast.AsyncFunctionDef: self._define,
            ast.ClassDef: self._class,
            ast.Return: self._return,
            ast.Raise: self._leave,
            ast.Continue: self._leave,
            ast.Break: self._leave,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.Expr: self._expression,
            ast.If: self._if,
            ast.For: self._for,
            ast.While: self._while,
            ast.With: self._with,
            ast.Try: self._try,
            ast.Match: self._match,
            ast.Global: self._outer_names,
            ast.Nonlocal: self._outer_names,
        }

    def module(self, module: Module) -> None:
        """Runs a module, and then its functions without parameters that have not run, as a test runner does."""
        frame = Frame(module)
        told = {int(one or other) for one, other in SIMULATED.findall(module.text)}
        self.simulated = told.pop() if len(told) == 1 else None
        try:
            self.run(module.tree.body, frame)
            self.quiet = 0
            for node in module.tree.body:
                if isinstance(node, ast.FunctionDef) and node not in self.entered and _takes_nothing(node):
                    self.context = UNKNOWN  # a fixture may set one
                    self.call(frame.names.get(node.name, UNKNOWN), Given((), {}), node=None, frame=frame)
        except (TooLongError, RecursionError):
            return

    def note(self, node: ast.expr | None, module: Module, message: str) -> None:
        """Notes what JAX refuses, if it is certain to come to it."""
        if node is not None and not self.quiet:
            self.noted.setdefault(node, Noted(module, node, message))

    def tried(self, node: ast.expr | None, frame: Frame, make: Callable[[], Thing]) -> Thing:
        """What an operation gives; UNKNOWN where it is not known, or is refused, which is noted."""
        try:
            made = make()
        except MisfitError as misfit:
            self.note(node, frame.module, str(misfit))
            return UNKNOWN
        return UNKNOWN if made is None else made

    # Statements

    def run(self, statements: Sequence[ast.stmt], frame: Frame) -> bool:
        """Runs statements; whether they left the function."""
        return any(self._statement(one, frame) for one in statements)

    def _statement(self, node: ast.stmt, frame: Frame) -> bool:
        handler = self._handlers.get(type(node))
        return handler is not None and bool(handler(node, frame))

    def _return(self, node: ast.Return, frame: Frame) -> bool:
        frame.returned.append(None if node.value is None else self.evaluate(node.value, frame))
        return True

    def _leave(self, _node: ast.stmt, _frame: Frame) -> bool:
        return True

    def _assign(self, node: ast.Assign, frame: Frame) -> None:
        made = self.evaluate(node.value, frame)
        for target in node.targets:
            self.bind(target, made, frame)

    def _annotated(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.bind(node.target, self.evaluate(node.value, frame), frame)

    def _augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        read = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self.bind(node.target, self.evaluate(read, frame), frame)

    def _expression(self, node: ast.Expr, frame: Frame) -> None:
        self.evaluate(node.value, frame)

    def _class(self, node: ast.ClassDef, frame: Frame) -> None:
        frame.names[node.name] = objects.define(self, node, frame)

    def _while(self, node: ast.While, frame: Frame) -> None:
        self._changing(node.body, frame)
        self._maybe((node.body, []), frame)

    def _try(self, node: ast.Try, frame: Frame) -> bool:
        self._maybe((node.body, [], *(one.body for one in node.handlers)), frame)
        return self.run([*node.orelse, *node.finalbody], frame)

    def _match(self, node: ast.Match, frame: Frame) -> None:
        self._maybe(([], *(case.body for case in node.cases)), frame)

    def _outer_names(self, node: ast.Global | ast.Nonlocal, frame: Frame) -> None:
        for name in node.names:
            holder = frame.outer.holder(name) if frame.outer is not None else None
            if holder is not None:
                holder.names[name] = UNKNOWN
        frame.names.update(dict.fromkeys(node.names, UNKNOWN))

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
        value: Thing = Closure(node, frame) if isinstance(node, ast.FunctionDef) else UNKNOWN
        for decorator in reversed(node.decorator_list):
            made = self.evaluate(decorator, frame)
            value = self.call(made, Given((value,), {}), decorator, frame)
        frame.names[node.name] = value

    def _if(self, node: ast.If, frame: Frame) -> bool:
        known = True if is_main_guard(node) else expressions.truth(self.evaluate(node.test, frame))
        if known is not None:
            return self.run(node.body if known else node.orelse, frame)
        return self._maybe((node.body, node.orelse), frame)

    def _maybe(self, ways: Sequence[Sequence[ast.stmt]], frame: Frame) -> bool:
        """Runs one of several ways, of which it is not known which; whether all of them left the function."""
        before, after, left = dict(frame.names), list[dict[str, Thing]](), 0
        self.quiet += 1
        for way in ways:
            frame.names = dict(before)
            if self.run(way, frame):
                left += 1
            else:
                after.append(frame.names)
        self.quiet -= 1
        if not after:
            return True
        names = {name for one in after for name in one}
        frame.names = {n: _joined_all([one.get(n, UNKNOWN) for one in after]) for n in names}
        if left:
            frame.doubts += 1
            self.quiet += 1
        return False

    def _for(self, node: ast.For, frame: Frame) -> None:
        items = self.items(self.evaluate(node.iter, frame))
        if items is None or not 0 < len(items) <= LONGEST_LOOP or any(map(_leaves, node.body)):
            first = UNKNOWN if items is None or not items else _joined_all(items)
            self.bind(node.target, first, frame)
            self._changing(node.body, frame)
            self._maybe((node.body, []), frame)
            return
        for item in items:
            self.bind(node.target, item, frame)
            self.run(node.body, frame)

    def _changing(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        """Forgets what a loop may make another thing of in each of its rounds."""
        before = dict(frame.names)
        self._maybe((body, []), frame)
        for name, one in before.items():
            if frame.names.get(name) is not one:
                frame.names[name] = joined(one, frame.names.get(name, UNKNOWN))

    def _with(self, node: ast.With, frame: Frame) -> bool:
        before, doubtful, others = self.context, 0, 0
        for item in node.items:
            call = item.context_expr
            made = self.evaluate(call, frame)
            callee = self.resolver.value(call.func, frame.module) if isinstance(call, ast.Call) else None
            sets = isinstance(call, ast.Call) and getattr(callee, "name", "") in SETTERS
            doubtful += isinstance(call, ast.Call) and not sets
            others += not sets
            if item.optional_vars is not None:
                self.bind(item.optional_vars, made if isinstance(made, Mesh) else UNKNOWN, frame)
        quiet = doubtful and any("raises" in ast.unparse(item.context_expr).lower() for item in node.items)
        self.quiet += bool(quiet)
        self.entered_others += others
        left = self.run(node.body, frame)
        self.entered_others -= others
        self.quiet -= bool(quiet)
        self.context = before
        return left

    def bind(self, target: ast.expr, value: Thing, frame: Frame) -> None:
        """Gives what an assignment names a value."""
        match target:
            case ast.Name(id=name):
                frame.names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = self.items(value)
                if items is not None and len(items) == len(parts) and not any(map(_is_starred, parts)):
                    for part, item in zip(parts, items, strict=True):
                        self.bind(part, item, frame)
                    return
                for part in parts:
                    self.bind(part.value if isinstance(part, ast.Starred) else part, UNKNOWN, frame)
            case ast.Subscript(value=held, slice=index):
                self._store(self.evaluate(held, frame), self.evaluate(index, frame), value)
            case ast.Attribute(value=held, attr=name):
                owner = self.evaluate(held, frame)
                if isinstance(owner, Object):
                    before = owner.content.get(name, value)
                    owner.content[name] = value if not self.quiet else joined(before, value)

    def _store(self, owner: Thing, key: Thing, value: Thing) -> None:
        is_entry = type(owner) is dict and isinstance(key, str | int)
        is_place = type(owner) is list and type(key) is int and -len(owner) <= key < len(owner)
        if (is_entry or is_place) and not self.quiet:
            owner[key] = value
        else:
            self.spoil(owner)

    def items(self, thing: Thing) -> list[Thing] | None:
        """What iterating over something gives."""
        return expressions.items(thing) if id(thing) not in self.spoiled else None

    def spoil(self, thing: Thing) -> None:
        """Something may be changed by code that is not read: nothing is known of it from here on."""
        if type(thing) in (list, dict):
            self.spoiled[id(thing)] = thing  # which keeps it, so that its id is not used again
        if is_container(thing):
            for one in thing.values() if type(thing) is dict else thing:
                self.spoil(one)
        if isinstance(thing, Object) and id(thing) not in self.spoiled:
            self.spoiled[id(thing)] = thing
            for one in thing.content.values():
                self.spoil(one)

    # Expressions and calls

    def evaluate(self, node: ast.expr, frame: Frame) -> Thing:
        """What an expression is."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLongError
        found = expressions.evaluate(self, node, frame)
        return UNKNOWN if id(found) in self.spoiled else found

    def call(self, callee: Thing, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
        """What a call gives."""
        if isinstance(callee, Closure):
            made = self._closure(callee, given)
            return made if node is None else placed(made, node, frame.module)
        if isinstance(callee, Class):
            return objects.make(self, callee, given, node, frame)
        if isinstance(callee, Object):
            return objects.call(self, callee, given, node, frame)
        return self._apply(self, callee, given, node, frame)

    def _closure(self, callee: Closure, given: Given) -> Thing:
        node = callee.node
        self.entered.add(node)
        inner = Frame(callee.frame.module, callee.frame)
        if self.depth >= DEEPEST or not self._pass(node, given, inner, callee.frame):
            return UNKNOWN
        self.depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body, inner)
            if isinstance(node, ast.AsyncFunctionDef) or self._is_generator(node):
                return UNKNOWN
            left = self.run(node.body, inner)
            if not left:
                inner.returned.append(None)
            return _joined_all(inner.returned) if inner.returned else UNKNOWN  # it raises
        finally:
            self.depth -= 1
            self.quiet -= inner.doubts

    def _is_generator(self, node: ast.FunctionDef) -> bool:
        """Whether a function yields itself, not one that is defined in it."""
        if node not in self._generators:
            pending: list[ast.AST] = [*node.body]
            found = False
            while pending and not found:
                current = pending.pop()
                found = isinstance(current, ast.Yield | ast.YieldFrom)
                if not isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                    pending += children(current)
            self._generators[node] = found
        return self._generators[node]

    def _pass(self, node: FunctionNode, given: Given, inner: Frame, outer: Frame) -> bool:
        """Gives the parameters of a function their arguments; whether they fit."""
        spec, named_left = node.args, dict(given.named)
        names = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        inner.names.update(zip(names, given.positional, strict=False))
        rest = tuple(given.positional[len(names) :])
        if spec.vararg is not None:
            inner.names[spec.vararg.arg] = rest
        elif rest:
            return False
        for name in (*names, *(one.arg for one in spec.kwonlyargs)):
            if name in named_left:
                inner.names[name] = named_left.pop(name)
        if spec.kwarg is not None:
            inner.names[spec.kwarg.arg] = named_left
        elif named_left:
            return False
        defaults = zip(names[::-1], spec.defaults[::-1], strict=False)
        by_name = zip((one.arg for one in spec.kwonlyargs), spec.kw_defaults, strict=True)
        for name, default in (*defaults, *by_name):
            if name not in inner.names and default is not None:
                inner.names[name] = self.evaluate(default, outer)
        return all(name in inner.names for name in (*names, *(one.arg for one in spec.kwonlyargs)))


def _joined_all(things: Sequence[Thing]) -> Thing:
    made = things[0]
    for one in things[1:]:
        made = joined(made, one)
    return made


def _takes_nothing(node: ast.FunctionDef) -> bool:
    spec = node.args
    count = len(spec.posonlyargs) + len(spec.args)
    return len(spec.defaults) == count and all(spec.kw_defaults) and spec.vararg is None


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _leaves(node: ast.stmt) -> bool:
    """Whether a statement may leave the loop that it stands in."""
    return any(isinstance(one, ast.Break | ast.Continue | ast.Return | ast.Raise) for one in ast.walk(node))
