"""What the parts of the interpreter ask of it: its state, and the values of expressions and calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Protocol

from jaxmigrate.flow.shapes.values import Dim, Frame, Given, Mesh, Thing
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver


class Run(Protocol):
    """A program that runs without its numbers.

    Attributes:
        resolver: What names outside the functions that run stand for.
        quiet: How many conditions stand around, of which it is not known whether they hold.
        context: The mesh that is set; None for none, UNKNOWN where it is not known.
        axes: How many devices there are along each axis that a map has bound.
        simulated: How many devices the program says that it simulates, None where it does not.
        checked: The axes that shard_maps have bound in which JAX checks what varies.
        compiling: How many calls of what jit made stand around.
        entered_others: How many context managers stand around that may enter a mesh as `with mesh:` does.
        first_meshes: The mesh that each map without one was first called with, by the map's identity.
    """

    resolver: Resolver
    quiet: int
    context: Thing
    axes: dict[str, Dim]
    simulated: Dim
    checked: frozenset[str]
    compiling: int
    entered_others: int
    first_meshes: dict[int, tuple[Thing, Mesh]]

    def run(self, statements: Sequence[ast.stmt], frame: Frame) -> bool:
        """Runs statements; whether they left the function."""

    def evaluate(self, node: ast.expr, frame: Frame) -> Thing:
        """What an expression is."""

    def call(self, callee: Thing, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
        """What a call gives."""

    def bind(self, target: ast.expr, value: Thing, frame: Frame) -> None:
        """Gives what an assignment names a value."""

    def items(self, thing: Thing) -> list[Thing] | None:
        """What iterating over something gives."""

    def spoil(self, thing: Thing) -> None:
        """Something may be changed by code that is not read."""

    def note(self, node: ast.expr | None, module: Module, message: str) -> None:
        """Notes what JAX refuses."""

    def tried(self, node: ast.expr | None, frame: Frame, make: Callable[[], Thing]) -> Thing:
        """What an operation gives; UNKNOWN where it is not known, or is refused, which is noted."""
