"""Rows that fill up a batch for the devices and are never taken off what comes back.

The count of them is asked for and not used, or the length before is, and nothing is cut to it behind the map.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name

COUNTS = re.compile(
    r"(^|_)(pad|padding|padded|pads)(_(len|length|size|count|rows|n|num|amount|to))?$|^(n|num)_pad(ding|ded)?(_|$)"
)
FILLS = frozenset({"pad", "zeros", "ones", "full", "repeat", "tile", "zeros_like", "broadcast_to", "range"})
JOINS = frozenset({"concatenate", "vstack", "hstack", "reshape", "stack", "extend"})
GIVES = ast.Return | ast.Yield


class Kept(NamedTuple):
    """Where rows come back with what filled them up, and what to say of it."""

    module: Module
    node: ast.expr
    message: str
    way: tuple[Step, ...]


def kept_padding(facts: Facts) -> Iterator[Kept]:
    """In functions that run a pmap: counts of padding that nothing uses, and lengths to which nothing is cut."""
    runs: dict[ast.FunctionDef, tuple[Module, ast.Call]] = {}
    for found in (*facts.all_maps, *facts.opaque_pmaps):
        for call, module in facts.calls_of(found) if found.name in PMAPS else ():
            function = module.table.function_of(call)
            if isinstance(function, ast.FunctionDef) and not module.is_test:
                before = runs.get(function)
                if before is None or before[1].lineno < call.lineno:
                    runs[function] = (module, call)
    for function, (module, call) in runs.items():
        if "pad" in module.text or "len(" in module.text:
            yield from _unused(function, call, module)
            yield from _uncut(function, call, module)


def _unused(function: ast.FunctionDef, call: ast.Call, module: Module) -> Iterator[Kept]:
    """`x, n_pad = fill_up(x)` where nothing reads `n_pad`."""
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or node.lineno > call.lineno:
            continue
        elements = [e for t in node.targets if isinstance(t, ast.Tuple) for e in t.elts]
        for one in elements:
            if isinstance(one, ast.Name) and COUNTS.search(one.id) and one.id not in read:
                message = (
                    f"{one.id} rows fill up the batch, and nothing takes them off what the map gives back: write "
                    f"[:-{one.id}] behind it where there are some"
                )
                last = _last_join(function, call) or one
                yield Kept(module, last, message, (Step(module, one, "filled up here"),))


def _uncut(function: ast.FunctionDef, call: ast.Call, module: Module) -> Iterator[Kept]:
    """`x = concatenate([x, zeros((whole - n, ...))])`, where nothing behind the map is cut to `n`."""
    last = _last_join(function, call)
    if last is None:
        return
    lengths = {
        node.targets[0].id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_length(node.value)
    }
    for fill in (one for one in ast.walk(function) if isinstance(one, ast.Call) and last_name(one.func) in FILLS):
        if fill.lineno > call.lineno:
            continue
        names = {
            node.right.id
            for node in ast.walk(fill)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Name)
        }
        for name in sorted(names & lengths):
            if not _is_read_behind(name, function, call):
                message = (
                    f"the rows that fill up the batch come back with the others: cut what the map gives to [:{name}]"
                )
                yield Kept(module, last, message, (Step(module, fill, "filled up here"),))
                return


def _is_length(node: ast.expr) -> bool:
    """Whether something is `len(x)` or `x.shape[0]`."""
    match node:
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=0)):
            return True
    return False


def _is_read_behind(name: str, function: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a number is used behind the map, or a mask tells the rows apart."""
    names = (n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return any(one.lineno > call.lineno and (one.id == name or COUNTS.search(one.id) is not None) for one in names)


def _last_join(function: ast.FunctionDef, call: ast.Call) -> ast.Call | None:
    """The last call behind a map that puts together what it gave."""
    joins = [
        one
        for one in ast.walk(function)
        if isinstance(one, ast.Call) and last_name(one.func) in JOINS and one.lineno > call.lineno
    ]
    return max(joins, key=lambda one: one.lineno, default=None)
