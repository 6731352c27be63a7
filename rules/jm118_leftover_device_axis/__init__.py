"""JM118: what has a slice for each device is used as if it had none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

CODE = "JM118"
LAST = last_names("replicates")
PUTS = named("puts")
DEVICES = re.compile("devices?$")
DIGITS = re.compile(r"^[^{}]*\.\d+[efg%]$|^\d*d$")
PERCENT = re.compile(r"%[\d.]*[defg]")
WRITTEN = re.compile(r":[^\s{}]*\.\d+[efg%]}|\w:\d*d}|%[\d.]*[defg]")
HOST = re.compile("cpu|host")


def check(facts: Facts) -> Iterator[Finding]:
    """Arguments of `replicate`, of `device_put` on one device, `float` and formats that a pmap or `replicate` gave."""
    for module, call in facts.calls(*LAST, "device_put", "float"):
        for node, what in _taken(call, module, facts):
            yield from _finding(node, module, what, facts)
    modules = {found.application.module: None for found in facts.all_maps if found.name in PMAPS}
    for module in (one for one in modules if WRITTEN.search(one.text)):
        for any_node in module.table.parents:
            for one in _formatted(any_node):
                yield from _finding(one, module, "is formatted as one number", facts)


def _taken(call: ast.Call, module: Module, facts: Facts) -> Iterator[tuple[ast.expr, str]]:
    first = call.args[0] if call.args else None
    if first is None:
        return
    match call.func:
        case ast.Name(id="float") if len(call.args) == 1:
            yield first, "is converted to one number"
            return
    callee = facts.resolver.value(call.func, module)
    name = callee.name if isinstance(callee, External) else ""
    if name in REPLICATES:
        yield first, "gets a second one"
    elif last_name(call.func) == "device_put" and name in PUTS and len(call.args) > 1 and _is_one(call.args[1]):
        yield first, "is put on one device with all of them"


def _formatted(node: ast.AST) -> Iterator[ast.expr]:
    """What is written as a number with so many digits, which an array of several is not."""
    match node:
        case ast.FormattedValue(
            value=value, conversion=-1, format_spec=ast.JoinedStr(values=[ast.Constant(value=how)])
        ):
            if DIGITS.search(str(how)):
                yield value
        case ast.BinOp(left=text, op=ast.Mod(), right=right) if PERCENT.search(ast.unparse(text)):
            yield from right.elts if isinstance(right, ast.Tuple) else [right]


def _is_one(device: ast.expr) -> bool:
    """Whether an argument is one of several devices, and not the host."""
    match device:
        case ast.Subscript(value=listed, slice=index) if not isinstance(index, ast.Slice):
            held = listed.func if isinstance(listed, ast.Call) else listed
            return DEVICES.search(last_name(held)) is not None and not HOST.search(ast.unparse(device))
    return False


def _finding(node: ast.expr, module: Module, what: str, facts: Facts) -> Iterator[Finding]:
    axis = facts.device_axes.of(node, module)
    if axis is None or not axis.stacked:
        return
    text = ast.unparse(node)[:40]
    message = (
        f"{text} has an axis of one slice for each device and {what}: write flax.jax_utils.unreplicate({text}), "
        "or take one slice by [0]"
    )
    yield from facts.finding(module, node, CODE, message, (Step(axis.module, axis.node, "stacked here"),))
