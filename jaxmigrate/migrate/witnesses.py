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
BETWEEN, NO_CALL, GIVEN = "\t", "~", "+"
BUILTINS = frozenset(vars(builtins)) - {"next"}
LOOSE = ast.Starred | ast.GeneratorExp  # which need brackets of their own in another call
PLACELESS = ast.JoinedStr | ast.Constant


def witnesses(module: Module, name: str, skip: Collection[ast.expr]) -> Iterator[Mark]:
    """The marks of a file, named `name:line:column-line:column`; what is in `skip` has marks of its own.

    Two expressions may begin at one place: a call, and the object whose method it calls.
    """
    marks: dict[ast.expr, list[ast.expr]] = {}
    operands: set[ast.expr] = set()
    imported = _imported(module.tree)
    for call in _calls(module.tree):
        own = [one for one in _operands(call) if one not in skip and not _is_of_module(one, imported)]
        marks |= {one: marks.get(one, []) for one in own}
        if call not in skip:
            marks[call] = own
            operands.update(own)

    def named(node: ast.expr) -> str:
        kind = NO_CALL if not isinstance(node, ast.Call) else GIVEN if node in operands else ""
        start, end = f"{node.lineno}:{column_of(node, module)}", f"{node.end_lineno}:{node.end_col_offset}"
        return f"{kind}{name}:{start}-{end}"

    for node, made_of in marks.items():
        yield Mark(node, BETWEEN.join(map(named, (node, *made_of))), host=True)


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
    return rewritten(text, marks, style_of(module), marks=True, statements=module.tree.body) if marks else text


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
