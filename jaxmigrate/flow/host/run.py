"""Runs the host's code of a project: every function once for what each of its callers gives it, as far as they go."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxmigrate.flow.host.frames import Frame
from jaxmigrate.flow.host.held import NOTHING, UNKNOWN, Held, Key, Source, join
from jaxmigrate.flow.host.later import read_before_spreading
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import positional_names
from jaxmigrate.program.values import Application, Class, Function
from jaxmigrate.records import made, record

DEEPEST = 5  # functions in one another
RUNS = 3  # of one function
STEPS = 30_000  # expressions of a whole run
LARGEST = 300  # statements of a function's own block


class Stepped(NamedTuple):
    """A call of what a pmap made: which results have no axis of devices, and how many there are, if that is known."""

    alone: frozenset[int]
    results: int | None


class Taking(NamedTuple):
    """Where one device's part is taken of what a map gave."""

    node: ast.expr
    module: Module
    source: Source


@record(eq=False, frozen=False)
class Run:
    """The evaluator: `seen` is what each expression was seen to hold.

    `expressions` and `statements` are the transfer functions, by the kinds of nodes.
    """

    resolver: Resolver
    stepped: Mapping[ast.Call, Stepped]
    makes_alone: Callable[[ast.Call, Module], bool]
    expressions: Mapping[type[ast.expr], Callable[[Run, Any, Frame], Held]]
    statements: Mapping[type[ast.stmt], Callable[[Run, Any, Frame], None]]
    seen: dict[ast.expr, Held] = made(factory=dict)
    takings: dict[tuple[ast.expr, Source], Taking] = made(factory=dict)
    averaged: set[tuple[ast.Call, tuple[Key, ...]]] = made(factory=set)  # what the host averages over the devices
    runs: dict[ast.AST, int] = made(factory=dict)
    results: dict[ast.AST, Held] = made(factory=dict)
    objects: dict[ast.ClassDef, Held] = made(factory=dict)
    stack: list[Frame] = made(factory=list)
    frames: dict[Module, Frame] = made(factory=dict)
    later: dict[Module, set[ast.Name]] = made(factory=dict)
    steps: int = 0
    quiet: int = 0

    def is_spent(self) -> bool:
        """Whether so much has run that it is enough."""
        return self.steps > STEPS

    def evaluate(self, node: ast.expr, frame: Frame) -> Held:
        """What an expression holds."""
        self.steps += 1
        rule = self.expressions.get(type(node))
        held = rule(self, node, frame) if rule is not None else UNKNOWN
        if not self.quiet and isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            before = self.seen.get(node)
            self.seen[node] = held if before is None else _seen(before, held)
        return held

    def spread_later(self, module: Module) -> Collection[ast.Name]:
        """Where a module reads names that its block replicates further down: `state = replicate(state)`."""
        if module not in self.later:
            self.later[module] = {*read_before_spreading(module, self.resolver)}
        return self.later[module]

    def take(self, node: ast.expr, held: Held, frame: Frame) -> Held:
        """One device's part of a value."""
        for source in held.sources if not self.quiet else ():
            self.takings.setdefault((node, source), Taking(node, frame.module, source))
        return Held(False, node, frame.module) if held.axis and held.of_copies else UNKNOWN

    def block(self, block: Sequence[ast.stmt], frame: Frame) -> None:
        """Runs statements one after the other, until the block is left."""
        for statement in block:
            if frame.left or self.is_spent():
                return
            rule = self.statements.get(type(statement))
            if rule is not None:
                rule(self, statement, frame)

    def enter(
        self, function: Function, given: Mapping[str, Held], frame: Frame | None, call: Application | None = None
    ) -> tuple[Held, Frame | None]:
        """What a function returns for what it is given; and its frame, where it ran."""
        node = function.node
        depth = frame.depth + 1 if frame is not None else 0
        times = self.runs.get(node, 0)
        busy = any(one.node is node for one in self.stack)
        if isinstance(node, ast.Lambda) or depth > DEEPEST or times >= RUNS or busy or self.is_spent():
            return (self.results.get(node, UNKNOWN) if not busy else UNKNOWN), None
        if len(node.body) > LARGEST:
            return UNKNOWN, None
        self.runs[node] = times + 1
        inner = Frame(function.module, node, outer=self._around(node, function.module), depth=depth, call=call)
        for name, default in _defaults(node):
            inner.names[name] = self.evaluate(default, inner) if default is not None else UNKNOWN
        inner.names.update(given)
        self.stack.append(inner)
        self.block(node.body, inner)
        self.stack.pop()
        held = inner.returned or NOTHING
        self.results[node] = join(self.results[node], held) if node in self.results else held
        return held, inner

    def _around(self, node: ast.AST, module: Module) -> Frame | None:
        """The frame of the function that a function stands in, if that runs; that of its module otherwise."""
        above = module.table.parents.get(node)
        around = module.table.function_of(above) if above is not None else None
        for frame in reversed(self.stack):
            if frame.node is around:
                return frame
        return self.frames.get(module)

    def object_of(self, cls: Class) -> Held:
        """What an object of a class holds in its attributes, whichever of its methods have run."""
        if cls.node in self.objects:
            return self.objects[cls.node]
        self.objects[cls.node] = UNKNOWN
        self.quiet += 1
        methods = [one for one in cls.node.body if isinstance(one, ast.FunctionDef) and one.args.args]
        first = [one for one in methods if one.name in ("__init__", "__post_init__", "setup")]
        held = Held(parts={})
        for one in first:
            held = self._after(cls, one, held)
        behind = [self._after(cls, one, held) for one in methods if one not in first]
        self.quiet -= 1
        found = held
        for left in behind:
            for key, part in (left.parts or {}).items():
                before = (held.parts or {}).get(key)
                if part is before or (before is not None and before.axis is False and part.sources):
                    continue  # a step gives it back as it got it
                found = found.beside(key, part)
        self.objects[cls.node] = found
        return found

    def _after(self, cls: Class, method: ast.FunctionDef, held: Held) -> Held:
        """What an object holds behind a method."""
        own = method.args.args[0].arg
        times = self.runs.get(method, 0)
        frame = self.enter(Function(cls.module, method), {own: held}, None)[1]
        self.runs[method] = times
        return frame.read(own) if frame is not None else held


def _seen(one: Held, other: Held) -> Held:
    """What an expression holds in two runs of it: an axis that it lacks in one is missing there."""
    lacking = next((held for held in (one, other) if held.axis is False), None)
    both = join(one._replace(restored=False), other._replace(restored=False))
    return both if lacking is None else lacking._replace(sources=both.sources)


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterable[tuple[str, ast.expr | None]]:
    names = positional_names(node.args)
    first = len(names) - len(node.args.defaults)
    yield from ((name, node.args.defaults[n - first] if n >= first else None) for n, name in enumerate(names))
    for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        yield one.arg, default
