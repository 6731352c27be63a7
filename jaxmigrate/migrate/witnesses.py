"""Which expressions of the original are marked, so that a run shows how the host makes what mapped functions get.

The results of calls are, and what they may be made of: the first argument, and the object whose method is called. A
mark hands its value on, so that it can stand around any expression of its own but one that is read as text.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from jaxmigrate.migrate.positions import column_of
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module, parse_module
from jaxmigrate.program.operations import Mark

MAKES_ARRAYS = re.compile(r"\b(?:jax|numpy|flax)\b")
BETWEEN, NO_CALL = "\t", "~"
BUILTINS = frozenset(vars(builtins)) - {"next"}
LOOSE = ast.Starred | ast.GeneratorExp  # which need brackets of their own in another call
PLACELESS = ast.JoinedStr | ast.Constant


def witnesses(module: Module, name: str, skip: Collection[ast.expr]) -> Iterator[Mark]:
    """The marks of a file, named `name:line:column`; what is in `skip` has marks of its own."""
    marks: dict[ast.expr, list[str]] = {}
    imported = _imported(module.tree)
    for call in _calls(module.tree):
        operands = [one for one in _operands(call) if one not in skip and not _is_of_module(one, imported)]
        for one in operands:
            marks.setdefault(one, [])
        if call not in skip:
            own = marks.setdefault(call, [])
            own += [_id(one, name, module) for one in operands]
    for node, made_of in marks.items():
        yield Mark(node, BETWEEN.join([_id(node, name, module), *made_of]), host=True)


def with_witnesses(name: str, path: Path, text: str) -> str:
    """The text of a file without maps, with its marks; as it is where it makes no arrays or does not parse."""
    from jaxmigrate.codemod.apply import rewritten

    if not MAKES_ARRAYS.search(text):
        return text
    try:
        module = parse_module(path, text)
    except SyntaxError:
        return text
    marks = list(witnesses(module, name, ()))
    return rewritten(text, marks, style_of(module), marks=True) if marks else text


def _id(node: ast.expr, name: str, module: Module) -> str:
    """Two expressions may begin at one place: a call, and the object whose method it calls."""
    kind = "" if isinstance(node, ast.Call) else NO_CALL
    start, end = f"{node.lineno}:{column_of(node, module)}", f"{node.end_lineno}:{node.end_col_offset}"
    return f"{kind}{name}:{start}-{end}"


def _imported(tree: ast.AST) -> set[str]:
    """The names that a file binds by imports."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {(alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names}


def _is_of_module(node: ast.expr, imported: Collection[str]) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in imported


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls of a file but for those in text, in what is only read as text, and those that Python answers itself."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, PLACELESS):
            continue
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in BUILTINS):
            yield node
        pending += _inside(node)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """What a node holds; decorators and annotations make no arrays."""
    for field, value in ast.iter_fields(node):
        if field in ("decorator_list", "annotation", "returns"):
            continue
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST))


def _operands(call: ast.Call) -> list[ast.expr]:
    """The first argument of a call and the object that it is called on, in this order."""
    first = [one for one in call.args[:1] if not isinstance(one, LOOSE | PLACELESS | ast.Lambda | ast.NamedExpr)]
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return [*first, *([owner] if owner is not None and not isinstance(owner, ast.Constant | ast.JoinedStr) else [])]
