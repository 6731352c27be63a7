"""Programs compared as texts."""

from __future__ import annotations

import ast


def flat(text: str) -> str:
    """A program with a line for each statement, however its lines are broken."""
    return ast.unparse(ast.parse(text))
