"""The variables of one call of a function, and what a call gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from jaxmigrate.flow.variance.lattice import AbstractValue, Fields, replace
from jaxmigrate.program.modules import Module
from jaxmigrate.records import made, record

Names = dict[str, AbstractValue]


@record(eq=False, frozen=False)
class Loop:
    """What the names hold where a loop is left, or gone round, from its middle."""

    left: list[Names] = made(factory=list)
    again: list[Names] = made(factory=list)


@record(eq=False, frozen=False)
class Frame:
    """What names hold while a function runs; `parent` is the frame of the function that it was made in.

    `captured`: a function made in it may outlive it. `watching` collects what names hold at any time in a try block.
    """

    module: Module
    node: ast.AST | None
    parent: Frame | None = None
    names: Names = made(factory=dict)
    returned: list[AbstractValue] = made(factory=list)
    yielded: list[AbstractValue] = made(factory=list)
    loops: list[Loop] = made(factory=list)
    watching: list[Names] = made(factory=list)
    captured: bool = False
    doubtful: bool = False

    def holder(self, name: str) -> Frame | None:
        """The frame that holds a name, seen from this one."""
        frame: Frame | None = self
        while frame is not None and name not in frame.names:
            frame = frame.parent
        return frame


@record
class Arguments:
    """Arguments of a call; `rest` is what stars of unknown length give."""

    given: tuple[AbstractValue, ...] = ()
    named: Mapping[str, AbstractValue] = made(factory=Fields)
    rest: AbstractValue | None = None

    def all(self) -> Iterator[AbstractValue]:
        """Everything that is given."""
        yield from self.given
        yield from self.named.values()
        if self.rest is not None:
            yield self.rest

    def find(self, position: int, *keywords: str) -> AbstractValue | None:
        """The argument at a position or under one of some keywords."""
        for keyword in keywords:
            if keyword in self.named:
                return self.named[keyword]
        return self.given[position] if 0 <= position < len(self.given) else None


def reachable(arguments: Arguments) -> frozenset[object]:
    """Where all that arguments can reach may have been made."""
    return frozenset[object]().union(*(a.places for a in arguments.all()))


def fresh(value: AbstractValue, node: ast.AST | None, arguments: Arguments) -> AbstractValue:
    """A result that may be a new object, or one of the arguments."""
    if value.kind == "array":
        return value
    own = None if value.own is None else value.own | {node}
    return replace(value, places=value.places | reachable(arguments) | {node}, own=own)
