"""The statements of a module while new ones are put among them: each knows which statement of the file it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import libcst as cst

from jaxmigrate.codemod.rewriting import Rewriting

Statement: TypeAlias = cst.SimpleStatementLine | cst.BaseCompoundStatement
Importing: TypeAlias = cst.Import | cst.ImportFrom


class Body:
    """A module's statements, and the one of the file that each was, None for a new one."""

    def __init__(self, command: Rewriting, original: cst.Module, updated: cst.Module) -> None:
        self.command = command
        self.module = updated
        self.origins: list[cst.BaseStatement | None] = list(original.body)
        self.statements: list[Statement] = list(updated.body)

    def insert(self, index: int, new: Statement) -> None:
        """Puts a new statement before the one at an index."""
        self.origins.insert(index, None)
        self.statements.insert(index, new)

    def importing(self, index: int) -> Importing | None:
        """The import that stands alone on its lines at an index, and that something is left of."""
        found = alone(self.statements[index])
        origin = self.origins[index]
        return None if found is None or (origin is not None and self.is_emptied(origin)) else found

    def is_emptied(self, origin: cst.BaseStatement) -> bool:
        """Whether a statement was an import of which nothing is left."""
        small = alone(origin)
        return small is not None and self.command.is_emptied(small)

    def first_of(self, lines: Iterable[int]) -> int:
        """The index of the first statement that holds one of some lines of the file, else that behind the last."""
        first = min(lines, default=None)
        if first is not None:
            for index, origin in enumerate(self.origins):
                if origin is not None and first <= self.command.places.lines_of(origin)[1]:
                    return index
        return len(self.statements)

    def first_line(self, index: int) -> int:
        """The line of the file on which the statement at an index, or the next one that the file has, begins."""
        for origin in self.origins[index:]:
            if origin is not None:
                return self.command.places.lines_of(origin)[0]
        return self.command.lines_count + 1


def alone(statement: cst.BaseStatement) -> Importing | None:
    """The import that a statement is, if it stands alone on its lines."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        return small if isinstance(small, cst.Import | cst.ImportFrom) else None
    return None
