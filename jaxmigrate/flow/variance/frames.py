"""The variables of one call of a function, and what a call gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jaxmigrate.flow.variance.lattice import Fields, Var
from jaxmigrate.program.modules import Module

Names = dict[str, Var]


@dataclass(slots=True, eq=False)
class Loop:
    """What the names hold where a loop is left, or gone round, from its middle."""

    left: list[Names] = field(default_factory=list)
    again: list[Names] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Frame:
    """What names hold while a function runs; `parent` is the frame of the function that it was made in.

    `captured`: a function made in it may outlive it. `watching` collects what names hold at any time in a try block.
    """

    module: Module
    node: ast.AST | None
    parent: Frame | None = None
    names: Names = field(default_factory=dict)
    returned: list[Var] = field(default_factory=list)
    yielded: list[Var] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    watching: list[Names] = field(default_factory=list)
    captured: bool = False
    doubtful: bool = False

    def holder(self, name: str) -> Frame | None:
        """The frame that holds a name, seen from this one."""
        frame: Frame | None = self
        while frame is not None and name not in frame.names:
            frame = frame.parent
        return frame


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call; `rest` is what stars of unknown length give."""

    given: tuple[Var, ...] = ()
    named: Mapping[str, Var] = field(default_factory=Fields)
    rest: Var | None = None

    def all(self) -> Iterator[Var]:
        """Everything that is given."""
        yield from self.given
        yield from self.named.values()
        if self.rest is not None:
            yield self.rest

    def find(self, position: int, *keywords: str) -> Var | None:
        """The argument at a position or under one of some keywords."""
        for keyword in keywords:
            if keyword in self.named:
                return self.named[keyword]
        return self.given[position] if 0 <= position < len(self.given) else None
