"""What running a program without its numbers makes of its expressions: shapes of arrays, meshes, specs and functions.

Numbers, strings, None, tuples, lists and dictionaries stand for themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode

Dim: TypeAlias = "int | None"
Dims: TypeAlias = "tuple[Dim, ...]"
Thing: TypeAlias = Any  # one of the classes below, UNKNOWN, or what stands for itself


class Unknown:
    """Of which there is one: anything."""

    __slots__ = ()


UNKNOWN = Unknown()


class Array(NamedTuple):
    """An array, or a number that is known only when the program runs; None for a length that is not known.

    `split`: the axes that each dimension is split over, where that is part of its type: of an Explicit mesh.
    """

    dims: Dims
    split: tuple[tuple[str, ...], ...] | None = None


SCALAR = Array(())


class Mesh(NamedTuple):
    """A mesh: the number of devices along each axis, and of which type all axes are, "" where that is not known."""

    sizes: Mapping[str, Dim]
    type: str = ""


class Spec(NamedTuple):
    """A PartitionSpec, and where it is written; None for an entry that is not known."""

    entries: tuple[tuple[str, ...] | None, ...]
    node: ast.expr
    module: Module


class Sharding(NamedTuple):
    """A NamedSharding; without a mesh where that is not known."""

    mesh: Mesh | None
    spec: Spec


class Library(NamedTuple):
    """Something outside the project, by its full name."""

    name: str


class Updating(NamedTuple):
    """`x.at`, and `x.at[...]`."""

    array: Array


class Method(NamedTuple):
    """A method of an array."""

    array: Array
    name: str


class Frame:
    """The names of a function that runs, or of a module."""

    __slots__ = ("doubts", "module", "names", "outer", "returned")

    def __init__(self, module: Module, outer: Frame | None = None) -> None:
        self.module = module
        self.outer = outer
        self.names: dict[str, Thing] = {}
        self.returned: list[Thing] = []
        self.doubts = 0  # conditions that hold only on some ways on, as others have returned

    def holder(self, name: str) -> Frame | None:
        """The frame that has a name."""
        frame: Frame | None = self
        while frame is not None and name not in frame.names:
            frame = frame.outer
        return frame


class Closure:
    """A function of the program."""

    __slots__ = ("frame", "node")

    def __init__(self, node: FunctionNode, frame: Frame) -> None:
        self.node = node
        self.frame = frame


class Class:
    """A class of the program; `fields` are those of a dataclass or a named tuple, in their order."""

    __slots__ = ("fields", "frame", "methods", "names", "node")

    def __init__(
        self,
        node: ast.ClassDef,
        frame: Frame,
        names: Mapping[str, Thing],
        methods: Mapping[str, ast.FunctionDef],
        fields: Sequence[str] | None,
    ) -> None:
        self.node = node
        self.frame = frame
        self.names = names
        self.methods = methods
        self.fields = fields


class Object:
    """An object of a class of the program."""

    __slots__ = ("cls", "content")

    def __init__(self, cls: Class, content: dict[str, Thing]) -> None:
        self.cls = cls
        self.content = content


class Given(NamedTuple):
    """The arguments of a call."""

    positional: Sequence[Thing]
    named: Mapping[str, Thing]

    def find(self, position: int | None, *names: str, otherwise: Thing = None) -> Thing:
        """An argument by its position or one of its names."""
        for name in names:
            if name in self.named:
                return self.named[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return otherwise


class Made(NamedTuple):
    """What a function of JAX made of a function: `jit(f)`; `kind` is its last name."""

    kind: str
    function: Thing
    given: Given


def placed(thing: Thing, node: ast.expr, module: Module) -> Thing:
    """A spec that a function of the program has made stands where that is called."""
    if isinstance(thing, Sharding):
        return thing._replace(spec=placed(thing.spec, node, module))
    return thing._replace(node=node, module=module) if isinstance(thing, Spec) else thing


def array_of(thing: Thing) -> Array | None:
    """The array that something is, or that JAX makes of a number."""
    if isinstance(thing, Array):
        return thing
    return SCALAR if isinstance(thing, bool | int | float | complex) else None


def dim_of(thing: Thing) -> Dim:
    """A length."""
    return thing if isinstance(thing, int) and not isinstance(thing, bool) and thing >= 0 else None


def is_container(thing: Thing) -> bool:
    """Whether something is a tree's node."""
    return type(thing) in (tuple, list, dict)


def mapped(change: Callable[..., Thing], first: Thing, *others: Thing) -> Thing:
    """A tree with a function's results in place of its leaves, and of those in the same places of others."""
    if type(first) in (tuple, list):
        if not all(type(one) in (tuple, list) and len(one) == len(first) for one in others):
            return UNKNOWN
        return type(first)(mapped(change, *row) for row in zip(first, *others, strict=True))
    if type(first) is dict:
        if not all(type(one) is dict and one.keys() == first.keys() for one in others):
            return UNKNOWN
        return {key: mapped(change, one, *(other[key] for other in others)) for key, one in first.items()}
    return None if first is None else change(first, *others)


def along(change: Callable[[Thing, Thing], Thing], prefix: Thing, tree: Thing) -> Thing:
    """A tree with what a function makes of each leaf and of the entry of a prefix tree that is for it."""
    if is_container(prefix) and is_container(tree):
        if type(prefix) is dict:
            if type(tree) is not dict or prefix.keys() != tree.keys():
                return UNKNOWN
            return {key: along(change, prefix[key], one) for key, one in tree.items()}
        if type(tree) is dict or len(prefix) != len(tree):
            return UNKNOWN
        return type(tree)(along(change, one, other) for one, other in zip(prefix, tree, strict=True))
    return UNKNOWN if is_container(prefix) else mapped(lambda leaf: change(prefix, leaf), tree)


def joined(one: Thing, other: Thing) -> Thing:
    """What holds on two ways that meet."""
    if one is other:
        return one
    if isinstance(one, Array) and isinstance(other, Array):
        if len(one.dims) != len(other.dims):
            return UNKNOWN
        return Array(tuple(a if a == b else None for a, b in zip(one.dims, other.dims, strict=True)))
    if type(one) is type(other) and is_container(one):
        return mapped(joined, one, other)
    if type(one) is type(other) and isinstance(one, bool | int | float | str | Mesh | Library):
        return one if one == other else SCALAR if isinstance(one, int | float) else UNKNOWN
    return UNKNOWN
