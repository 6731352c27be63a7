"""Columns in characters: `ast` counts them in bytes of UTF-8."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module


def column_of(node: ast.expr | ast.stmt, module: Module) -> int:
    """A node's column in characters, from 1."""
    line = module.lines[node.lineno - 1]
    if line.isascii():
        return node.col_offset + 1
    return len(line.encode()[: node.col_offset].decode(errors="replace")) + 1
