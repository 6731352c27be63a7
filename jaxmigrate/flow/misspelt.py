"""The one axis that a misspelt name was meant for, where it is certain enough to write it in its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from jaxmigrate.flow.fixes import Offer, replaced
from jaxmigrate.flow.known_axes import known_axes
from jaxmigrate.flow.spelling import is_slip, near_miss
from jaxmigrate.program.collectives import AXIS_POSITIONS, SPECS
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External

PARTIALS = named("partial")
# What axes are called as a rule: beside one of these a word that is a letter off is the slip
USUAL = frozenset(
    (
        *("batch", "data", "device", "devices", "expert", "experts", "fsdp", "host", "hosts", "model", "pipe"),
        *("pipeline", "replica", "replicas", "seq", "sequence", "stage", "stages", "tensor"),
    )
)


def respelled(node: ast.expr, axis: str, bound: Collection[str], module: Module, resolver: Resolver) -> Offer | None:
    """What writes the axis that is meant in a collective or a spec, or where its literal itself stands.

    Only where one bound axis alone is a slip away, nothing in the program binds the name as it is written, all places
    that write it are collectives and specs, and the other name is the usual one or stands more often.
    """
    near = _meant(axis, bound, resolver)
    literals = [*_literals_in(node, axis)]
    if not near or not literals or not all(_is_plain(one, module) for one in literals):
        return None
    quoted = (repr(near) if module.segment(one)[0] == "'" else f'"{near}"' for one in literals)
    changes = tuple(replaced(one, text) for one, text in zip(literals, quoted, strict=True))
    return Offer(f"write {near!r}", module, changes)


def _meant(axis: str, bound: Collection[str], resolver: Resolver) -> str:
    slips = [name for name in bound if is_slip(axis, name)]
    if len(slips) != 1 or near_miss(axis, bound) != slips[0] or axis in known_axes(resolver).names:
        return ""
    near, program = slips[0], resolver.project.program
    everywhere = [(one, node) for one in program if axis in one.text for node in _strings(one.nodes, axis)]
    if not all(_names_an_axis(node, one, resolver) for one, node in everywhere):
        return ""
    usual = near in USUAL and axis not in USUAL
    return near if usual or _count(near, program) > _count(axis, program) else ""


def _strings(nodes: Collection[ast.AST], text: str) -> Iterator[ast.Constant]:
    return (node for node in nodes if isinstance(node, ast.Constant) and node.value == text)


def _count(word: str, program: Sequence[Module]) -> int:
    """How often a word stands in a program."""
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    return sum(len(pattern.findall(module.text)) for module in program)


def _literals_in(node: ast.expr, axis: str) -> Iterator[ast.Constant]:
    """The name as it is written in a call's own arguments, or where it stands itself."""
    if isinstance(node, ast.Constant):
        yield from _strings([node], axis)
    for one in [*node.args, *(keyword.value for keyword in node.keywords)] if isinstance(node, ast.Call) else ():
        parts = one.elts if isinstance(one, ast.Tuple | ast.List) else [one]
        inner = [p for part in parts for p in (part.elts if isinstance(part, ast.Tuple | ast.List) else [part])]
        yield from _strings(inner, axis)


def _names_an_axis(node: ast.Constant, module: Module, resolver: Resolver) -> bool:
    """Whether a string stands for the axis of a collective, or in a spec."""
    parents = module.table.parents
    above = parents.get(node)
    while isinstance(above, ast.Tuple | ast.List | ast.keyword):
        above = parents.get(above)
    callee = resolver.value(above.func, module) if isinstance(above, ast.Call) else None
    if isinstance(above, ast.Call) and above.args and isinstance(callee, External) and callee.name in PARTIALS:
        callee = resolver.value(above.args[0], module)
    return isinstance(callee, External) and (callee.name in AXIS_POSITIONS or callee.name in SPECS)


def _is_plain(node: ast.Constant, module: Module) -> bool:
    """Whether a string is one word in quotes, and nothing that was put together."""
    return re.fullmatch(r"'\w+'|\"\w+\"", module.segment(node)) is not None
