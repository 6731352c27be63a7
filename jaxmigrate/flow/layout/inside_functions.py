"""Code that changes what functions and partials hold: `f.__closure__[0].cell_contents = x`, `p.keywords["a"] = x`.

A function whose closure, defaults or bound arguments are others from then on does something else than its text says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.modules import Module

CELLS = "cell_contents"
HOLDING = frozenset({"__kwdefaults__", "keywords"})  # what gives a dictionary that can be written into
STATE = "__setstate__"
READS = frozenset({"copy", "get", "items", "keys", "values"})
BASES = "__bases__"  # of a class, which inherits other methods from then on
WORDS = (CELLS, STATE, BASES, *HOLDING)


def changes(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """The places where a module may change what functions hold, each with the name of that, where the code says it."""
    for word in WORDS:
        for node in module.mentions.get(word, ()) if word in module.text else ():
            if _changes(node, word, module):
                yield node, _key(module.table.parents.get(node)) or word


def _changes(node: ast.AST, word: str, module: Module) -> bool:
    above = module.table.parents.get(node)
    if word == CELLS:
        return isinstance(node, ast.Attribute | ast.Constant)
    if not isinstance(node, ast.Attribute):
        return False
    if word == BASES:
        return isinstance(node.ctx, ast.Store)
    if word == STATE:  # of another object, since a class's own method calls the one of its base
        return isinstance(above, ast.Call) and above.func is node and not _is_of_base(node.value)
    match above:
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return value is node
        case ast.Attribute(attr=attr):
            return attr not in READS and isinstance(module.table.parents.get(above), ast.Call)
    return False


def _key(above: ast.AST | None) -> str:
    match above:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
    return ""


def _is_of_base(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="super")) | ast.Name(id="self"):
            return True
    return False
