"""What each transfer function may ask and note in a function whose blocks are followed."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.blocks.block import Block
from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.blocks.parts import Kind, Part
from jaxmigrate.flow.receivers import Bindings
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, Path
from jaxmigrate.program.values import Argument, Function


class Clash(NamedTuple):
    """An operation whose two operands cannot fit: over dimensions that belong together and are not split alike."""

    module: Module
    node: ast.expr
    one: ast.expr
    other: ast.expr
    axes: tuple[frozenset[str], frozenset[str]]


class OwnPart(NamedTuple):
    """A device's own part of an array, in which its index along the axis that splits it chooses as if it were whole."""

    module: Module
    node: ast.expr
    held: ast.expr
    axis: str


class Inside(ABC):
    """One function with the blocks of its parameters.

    Attributes:
        given: The blocks of its parameters.
        bindings: What parameters and objects stand for that are no arrays: the names of axes, functions, numbers.
        outer: Where it is called.
        passed: The expressions there that its parameters are given.
        known: What was found of each expression.
        callees: What is known in the function that each call enters.
        entered: The names that are being followed, for what leads back to itself.
        clashes: Operations that cannot fit.
        chosen: Parts that are divided once more.
        parts: Parts that are taken for the whole.
        mixtures: Where a statistic of all features was first mixed with one of a block, by the axis that splits it.
    """

    def __init__(
        self,
        function: FunctionNode | None,
        module: Module,
        resolver: Resolver,
        given: Mapping[str, Block] | None = None,
        bindings: Bindings | None = None,
        outer: Inside | None = None,
    ) -> None:
        self.function = function
        self.module = module
        self.resolver = resolver
        self.given = given or {}
        self.bindings = bindings or {}
        self.outer = outer
        self.passed: dict[str, ast.expr] = {}
        self.entering: ast.Call | None = None  # the call that is followed here, in the module of `outer`
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.known: dict[ast.expr, Block | None] = {}
        self.callees: dict[ast.Call, Inside | None] = {}
        self.entered: set[ast.Name] = set()
        self.clashes: list[Clash] = []
        self.chosen: list[OwnPart] = []
        self.parts: list[Part] = []
        self.mixtures: dict[str, tuple[Module, ast.expr]] = {} if outer is None else outer.mixtures

    @abstractmethod
    def block(self, node: ast.expr) -> Block | None:
        """What is known of an expression's dimensions."""

    @abstractmethod
    def part(self, node: ast.expr, path: Path) -> Block | None:
        """What is known of a part of a tuple that an expression gives."""

    @abstractmethod
    def given_entry(self, node: ast.expr, path: str = "") -> Block | None:
        """An array in a dictionary that the function is given; `path` leads on from the expression."""

    @abstractmethod
    def returned(self, path: Path = ()) -> Block | None:
        """What the function returns, or a part of it, if each of its returns gives the same."""

    @abstractmethod
    def enter(
        self, callee: Function, node: ast.Call, passed: Mapping[str, ast.expr], rows: Mapping[str, ast.expr]
    ) -> None:
        """Follows a function that a library calls, with what it is passed, and with rows of what is passed."""

    def is_parameter(self, name: ast.Name) -> bool:
        """Whether a name is one of the function's own parameters where it is read."""
        binding = only_binding(name, self.module)
        return binding is not None and binding.kind == "param" and binding.scope.node is self.function

    def split_length(self, node: ast.expr) -> frozenset[str]:
        """The axes that split the dimension whose length in a device's block a number is."""
        found = self.length_of(node)
        block = self.block(found[0]) if found is not None else None
        if found is None or block is None or not -1 < found[1] < len(block.dims):
            return frozenset()
        return block.dims[found[1]] or frozenset()

    def length_of(self, node: ast.expr) -> tuple[ast.expr, int] | None:
        """The array and the dimension whose length a number is: `x.shape[1]`, also under a name."""
        match node:
            case ast.Subscript(value=ast.Attribute(value=held, attr="shape"), slice=ast.Constant(value=int(place))):
                return held, place
            case ast.Name():
                binding = only_binding(node, self.module)
                if binding is None or binding.kind != "assign" or binding.value is None:
                    return None
                value, path = binding.value, binding.path
                if not path:
                    return self.length_of(value)
                index = path[0] if len(path) == 1 else None
                if isinstance(value, ast.Attribute) and value.attr == "shape" and isinstance(index, int):
                    return value.value, index
        return None

    def note_part(self, node: ast.expr, held: ast.expr, axes: frozenset[str], kind: Kind) -> None:
        """Notes what takes a device's part for the whole, if axes split it."""
        if axes:
            self.parts.append(Part(self.module, node, held, axes, kind))

    def axes_of(self, given: Argument | None) -> tuple[str, ...] | None:
        """The names of axes that an argument is; what a parameter was passed, or has for its default."""
        node = given.expression if given is not None else None
        if given is None or node is None:
            return None
        return axis_names(node, given.module, self.resolver, self.bindings)

    def literal_axes(self, axis: Argument) -> tuple[int, ...] | None:
        """The dimensions that an argument names, as numbers."""
        over = self.resolver.literal(axis)
        over = (over,) if isinstance(over, int) else over
        return over if isinstance(over, tuple) and all(isinstance(n, int) for n in over) else None


def is_literal(node: ast.expr | None, value: object) -> bool:
    """Whether an expression is this one constant."""
    return isinstance(node, ast.Constant) and (node.value is value or (isinstance(value, str) and node.value == value))
