"""What the parts of the codemod see of the transformer that calls them: the file, its style, what waits at a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import libcst as cst

from jaxmigrate.codemod.layout import Room
from jaxmigrate.codemod.places import Places
from jaxmigrate.codemod.style import Style
from jaxmigrate.codemod.templates import Templates
from jaxmigrate.program.operations import (
    After,
    Before,
    DropStatement,
    Enclose,
    First,
    Redecorate,
    Rename,
    ReplaceStatement,
)
from jaxmigrate.sources.containers import CellStart

OfStatement: TypeAlias = Before | After | ReplaceStatement | DropStatement | Enclose | First | Redecorate | Rename


class Rewriting(Protocol):
    """One file while operations are applied to it."""

    style: Style
    places: Places
    templates: Templates
    cells: Sequence[CellStart]
    lines_count: int
    block_indent: str | None

    def is_emptied(self, node: cst.CSTNode) -> bool:
        """Whether nothing is left of an import."""
        ...

    def statement_operations(self, node: cst.CSTNode) -> list[OfStatement | None]:
        """The operations on a statement, which wait no longer; None drops it."""
        ...

    def has_statement_operations(self, node: cst.CSTNode) -> bool:
        """Whether some operation is on a statement."""
        ...

    def drops_comments(self, node: cst.CSTNode) -> bool:
        """Whether a statement is to be dropped with the comments that are about it alone."""
        ...

    def comments_of(self, node: cst.CSTNode) -> list[cst.Comment]:
        """Comments that stood in a statement where new code stands now."""
        ...

    def keep_comments(self, old: cst.CSTNode, new: cst.CSTNode, given: cst.CSTNode | None = None) -> None:
        """Comments that new code has no place for go above the statement."""
        ...

    def breaks_later(self) -> bool:
        """Whether the statement around stands on one line, so that all of it is broken anew where it has grown."""
        ...

    def room(self, node: cst.CSTNode) -> Room:
        """Where a node of the file stands."""
        ...

    def new_room(self, indent: str) -> Room:
        """Where a new statement at some indentation stands."""
        ...

    def indent_of(self, node: cst.CSTNode) -> str:
        """The indentation of the line on which a node of the file begins."""
        ...
