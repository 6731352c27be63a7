"""Where what a statement binds is read: a function's own names in its code alone, all others wherever they stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode, Scope
from jaxmigrate.program.syntax import last_name

LOOPS = ast.For | ast.While | ast.AsyncFor


class Attribute(NamedTuple):
    """What an object sets of itself, which is an attribute wherever it is read."""

    name: str


class Own(NamedTuple):
    """A name that a function holds; `statement` binds it, and what it reads itself before that is something else."""

    name: str
    holder: Scope
    module: Module
    statement: ast.AST | None = None

    def reads(self) -> Iterator[ast.expr]:
        """Where it is read."""
        scopes = self.module.table.scope_of
        for node in self.module.table.named.get(self.name, ()):
            own = isinstance(node, ast.Name) and scopes[node].lookup(self.name) is self.holder
            if own and (self.statement is None or not _comes_before(node, self.statement, self.module)):
                yield node


Key = str | Attribute | Own  # by which reads are found


def read_from(target: ast.expr, module: Module, statement: ast.AST) -> Iterator[Key]:
    """What is read of a value that a statement binds to a target."""
    match target:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from read_from(part, module, statement)
        case ast.Starred(value=part):
            yield from read_from(part, module, statement)
        case ast.Name(id=name):
            found = read_under(name, target, module)
            yield found._replace(statement=statement) if isinstance(found, Own) else found
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            yield Attribute(name)
        case _:
            yield last_name(target)


def read_under(name: str, node: ast.AST, module: Module) -> str | Own:
    """What is read of a value that a node binds to a name: any of that name where others than a function have it."""
    scope = module.table.scope_of.get(node)
    holder = scope.lookup(name) if scope is not None else None
    return name if holder is None or holder.kind != "function" else Own(name, holder, module)


def _comes_before(read: ast.expr, statement: ast.AST, module: Module) -> bool:
    """Whether a statement reads a name for what it is about to bind to it anew, as `step = jax.pmap(step)` does."""
    table = module.table
    own, node = table.scope_of[read].function(), table.parents.get(read)
    while node is not None and node is not statement:
        node = table.parents.get(node)
    if node is None or own is not table.scope_of[statement].function():
        return False
    while node is not None and not isinstance(node, FunctionNode):
        if isinstance(node, LOOPS):
            return False
        node = table.parents.get(node)
    return True
