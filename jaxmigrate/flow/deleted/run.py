"""Runs the host's code on the objects that its names hold, and notes where one is used that a call was donated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxmigrate.flow.deleted.heap import Donation, Heap, Key, Thing
from jaxmigrate.flow.later_reads import asks_for_deletion
from jaxmigrate.flow.templates import is_template
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Function
from jaxmigrate.records import made, record

DEEPEST = 4  # functions in one another
STEPS = 20_000  # expressions of a whole run
LARGEST = 300  # statements of a function's own block
PLACES = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Dict


class Given(NamedTuple):
    """An argument that a call donates: whether it is copied first where it lies on one device."""

    node: ast.expr
    name: str
    moves: bool


class Use(NamedTuple):
    """Where an object is used that was donated before."""

    module: Module
    read: ast.expr
    donation: Donation


class Sometimes(NamedTuple):
    """Within how many conditions an object is deleted at times, and in which round; None where in many of them."""

    conditions: int
    turn: int | None


@record(eq=False, frozen=False)
class Frame:
    """A function or module that runs; `left` says how its block was left: by "break", "continue" or "return"."""

    number: int
    module: Module
    node: ast.AST
    outer: Frame | None = None
    depth: int = 0
    left: str = ""
    returned: list[Thing] = made(factory=list)


@record(eq=False, frozen=False)
class Run:
    """The evaluator: `donated` are the calls that donate, with their arguments that are given away.

    `expressions` and `statements` are the transfer functions, by the kinds of nodes.
    """

    resolver: Resolver
    donated: Mapping[ast.Call, Sequence[Given]]
    is_array: Callable[[str], bool]
    expressions: Mapping[type[ast.expr], Callable[[Run, Any, Frame], Thing]]
    statements: Mapping[type[ast.stmt], Callable[[Run, Any, Frame], None]]
    heap: Heap = made(factory=Heap)
    uses: list[Use] = made(factory=list)
    placed: set[Thing] = made(factory=set)  # what lies on the devices for certain
    hosted: set[Thing] = made(factory=set)  # what may lie on the host, of which nothing is donated
    unclear: set[Thing] = made(factory=set)  # fields that may hold something else than arrays
    sometimes: dict[Thing, Sometimes] = made(factory=dict)
    ran: set[ast.AST] = made(factory=set)
    at_once: dict[ast.AST, bool] = made(factory=dict)  # functions of the program, by whether a call runs them through
    stack: list[Frame] = made(factory=list)
    tops: dict[Module, Frame] = made(factory=dict)
    conditions: int = 0
    turn: int = 0
    steps: int = 0
    count: int = 0

    def fresh(self, *, placed: bool = False, hosted: bool = False) -> Thing:
        """An object of its own."""
        self.count += 1
        if placed:
            self.placed.add(self.count)
        if hosted:
            self.hosted.add(self.count)
        return self.count

    def module(self, module: Module) -> None:
        """Runs a module from its top."""
        frame = self.tops[module] = Frame(self.fresh(), module, module.tree)
        self.stack.append(frame)
        self.block(module.tree.body, frame)
        self.stack.pop()

    def enter(self, function: Function, given: Mapping[str, Thing], depth: int) -> Thing | None:
        """What a function gives back; None where it is not run."""
        node = function.node
        busy = any(one.node is node for one in self.stack)
        if isinstance(node, ast.Lambda) or busy or depth > DEEPEST or self.steps > STEPS or len(node.body) > LARGEST:
            return None
        self.ran.add(node)
        frame = Frame(self.fresh(), function.module, node, self._around(node, function.module), depth)
        for name in _parameters(node):
            self.heap.bind(frame.number, name, given[name] if name in given else self.fresh())
        self.stack.append(frame)
        self.block(node.body, frame)
        self.stack.pop()
        found = {*frame.returned}
        return found.pop() if len(found) == 1 else self.fresh()

    def _around(self, node: ast.AST, module: Module) -> Frame | None:
        above = module.table.parents.get(node)
        around = module.table.function_of(above) if above is not None else None
        return next((one for one in reversed(self.stack) if one.node is around), self.tops.get(module))

    def block(self, block: Sequence[ast.stmt], frame: Frame) -> None:
        """Runs statements one after the other, until the block is left."""
        for statement in block:
            if frame.left or self.steps > STEPS:
                return
            rule = self.statements.get(type(statement))
            if rule is not None:
                rule(self, statement, frame)

    def look(self, node: ast.expr, frame: Frame) -> Thing:
        """The object that an expression gives, which need not be used thereby: another name may hold it."""
        self.steps += 1
        rule = self.expressions.get(type(node))
        return rule(self, node, frame) if rule is not None else self.fresh()

    def use(self, node: ast.expr, frame: Frame) -> Thing:
        """What an expression holds, of which the values are used: none may be deleted."""
        thing = self.look(node, frame)
        if isinstance(node, ast.Tuple | ast.List):
            for number, one in enumerate(node.elts):
                self.check(one, self.part(thing, number), frame)
        self.check(node, thing, frame)
        return thing

    def check(self, node: ast.expr, thing: Thing, frame: Frame) -> None:
        """Notes where an object is used that was donated."""
        deleted = self.heap.deleting(thing, self.unclear)
        if deleted is None or not isinstance(node, PLACES):
            return
        at = self.sometimes.get(deleted)
        told = at is None or (self.conditions <= at.conditions and at.turn in (None, self.turn))
        if told and not (asks_for_deletion(node, frame.module) or is_template(node, frame.module, self.resolver)):
            self.uses.append(Use(frame.module, node, self.heap.deleted[deleted]))
            self.heap.restore(thing)

    def part(self, thing: Thing, key: Key) -> Thing:
        """What stands under a key or in a field of an object."""
        own = self.heap.parts.get(thing, {})
        if key not in own:
            part = self.fresh(placed=thing in self.placed, hosted=thing in self.hosted)
            self.heap.put(thing, key, part, inside=True)
            return part
        return own[key]

    def holder(self, parts: Mapping[Key, Thing]) -> Thing:
        """A tuple, list, dictionary or object that holds others."""
        thing = self.fresh()
        for key, part in parts.items():
            self.heap.put(thing, key, part)
        return thing


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    spec = node.args
    return [one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg) if one]
