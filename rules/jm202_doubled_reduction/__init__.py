"""JM202: a reduction of a value that is already reduced."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.doubled import undoubled
from jaxmigrate.flow.enclosing import counts_devices
from jaxmigrate.flow.facts import AXES, Facts, Place
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.variance import Level, Reading, Reduction
from jaxmigrate.flow.variance.lattice import AS_SUMMED, NUMBER, OF_ONE, PIECE, SCATTERED, SHARE, leaves_of
from jaxmigrate.flow.variance.means import is_scaled
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import REDUCTIONS, axis_argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import External

CODE = "JM202"
FIX = "where one function applies the same `pmean`, `pmax` or `pmin` twice, the second is removed; no result changes"
METRIC = re.compile(r"(^|_)(loss|losses|accuracy|acc|metrics?)$")
EFFECTS = {
    "psum": "it becomes too large by a factor, the number of devices",
    "pmean": "the value does not change, and the communication is wasted",
}


def check(facts: Facts) -> Iterator[Finding]:
    """Reductions whose operand is, every time they are reached, the result of another one over the same axis."""

    def find(_found: DeviceMap, reading: Reading) -> Iterator[Place]:
        by_place: dict[object, list[Reduction]] = defaultdict(list)
        for reduction in reading.reductions:
            by_place[reduction.node].append(reduction)
        for same in by_place.values():
            message = _wrong(same, reading)
            if message:
                yield Place(same[0].module, same[0].node, message)
        yield from _scattered(reading)
        for module, node in ((m, n) for m, n, mark in reading.overdivided if mark not in reading.enlarged):
            message = f"a mean over {AXES} is divided by the number of devices once more; pmean has done so"
            yield Place(module, node, message)
        for module, node in reading.undersized:
            message = (
                f"a mean over {AXES} of a sum is divided by the count of all devices: too small by the number of "
                "devices; write psum for both"
            )
            yield Place(module, node, message)

    told = set[tuple[str, int, int]]()
    for finding in facts.along_axes(CODE, find, undoubled, unmapped=True):
        told.add((finding.path, finding.line, finding.column))
        yield finding
    for finding in _written_out(facts):
        if (finding.path, finding.line, finding.column) not in told:
            yield finding


def _wrong(same: list[Reduction], reading: Reading) -> str:
    """What is wrong with a reduction every time that it is reached; empty where nothing is."""
    first, name = same[0], same[0].name.rpartition(".")[2]
    marks = frozenset.intersection(*(one.operand.marks for one in same))
    if name in EFFECTS and all(is_doubled(one) for one in same):
        return "" if name != "psum" and all(map(_is_number, same)) else _told(first.name, AXES)
    if name == "pmean" and SHARE in marks and not is_scaled(first, reading):
        return (
            f"pmean over {AXES} of what is divided by a sum over it already: too small by the number of "
            "devices; write psum"
        )
    if name == "pmean" and OF_ONE in marks and not counts_devices(first.node, first.module):
        return (
            f"pmean over {AXES} of what one device has, and zeros on all others: too small by the number of "
            "devices; write psum"
        )
    if name in EFFECTS and PIECE in marks:
        return (
            f"{name} over {AXES} of what psum_scatter gave over it: each device has other rows of the sum, so "
            "this adds up different ones; leave it out, or write psum for psum_scatter"
        )
    if name == "psum" and (leaf := _doubled_leaf(same)):
        return (
            f"psum over {AXES} of several values, of which {leaf} is already summed over it: that one becomes "
            "too large by the number of devices"
        )
    if name in EFFECTS and SCATTERED in marks:
        return (
            f"{name} over {AXES} of the gradient of a shard that the loss gathers: JAX has already reduced "
            "it, so this adds up different shards; leave it out, and divide by the number of devices"
        )
    return ""


def _is_number(reduction: Reduction) -> bool:
    """Whether what is reduced once more are numbers, as metrics are: next to nothing is wasted."""
    given = reduction.node.args[0] if isinstance(reduction.node, ast.Call) and reduction.node.args else None
    leaves = leaves_of(reduction.operand)
    named = isinstance(given, ast.Name) and METRIC.search(given.id) is not None
    return all(not one.gradient and (named or NUMBER in one.marks) for one in leaves)


def _told(reduction: str, axis: str) -> str:
    name = reduction.rpartition(".")[2]
    return f"{name} of a value that is already reduced over {axis}: {EFFECTS.get(name, EFFECTS['pmean'])}"


def _written_out(facts: Facts) -> Iterator[Finding]:
    """`pmean(pmean(x, a), a)` in code that no map in sight leads to; what is read under one has been told."""
    each = [reading for ways in facts.readings_along for _, reading in ways]
    read = {reduction.node for reading in each for reduction in reading.reductions}
    for module, call in facts.calls(*(name.rpartition(".")[2] for name in REDUCTIONS)):
        outer, inner = reduction_of(call, module, facts), call.args[0] if call.args else None
        if call in read or outer is None:
            continue
        if isinstance(inner, ast.Name) and outer[0] == "jax.lax.psum":
            way = _summed_before(inner, module, outer, facts)
            yield from facts.finding(module, call, CODE, _told(*outer), way) if way else ()
        if isinstance(inner, ast.Call) and reduction_of(inner, module, facts) == outer:
            fix = undoubled(call, module, facts.resolver)
            yield from facts.finding(module, call, CODE, _told(*outer), fix=fix)


def _summed_before(name: ast.Name, module: Module, reduction: tuple[str, str], facts: Facts) -> tuple[Step, ...]:
    """Where the only value of a name was reduced so before; empty where it was not, or is no such value."""
    binding = only_binding(name, module)
    made = binding.value if binding is not None and binding.kind == "assign" and not binding.path else None
    if made is None or binding is None or binding.scope.node is not module.table.function_of(name):
        return ()
    for one in (made.body, made.orelse) if isinstance(made, ast.IfExp) else (made,):
        if isinstance(one, ast.Call) and reduction_of(one, module, facts) == reduction:
            return (Step(module, one, "reduced here"),)
    return ()


def reduction_of(call: ast.Call, module: Module, facts: Facts) -> tuple[str, str] | None:
    """The function that a call reduces by, if it does over all of an axis, and the text of that axis."""
    callee = facts.resolver.value(call.func, module)
    if not isinstance(callee, External) or callee.name not in REDUCTIONS:
        return None
    if any(keyword.arg == "axis_index_groups" for keyword in call.keywords):
        return None
    axis = axis_argument(callee.name, call_arguments(call, module))
    return (callee.name, ast.unparse(axis)) if axis is not None else None


def _scattered(reading: Reading) -> Iterator[Place]:
    """What psum has summed, and psum_scatter sums again."""
    for one in reading.scattered:
        if one.operand.level == Level.NO and AS_SUMMED in one.operand.marks:
            message = (
                f"psum_scatter over {AXES} of what psum has summed over it: too large by the number of devices; "
                "leave psum out"
            )
            yield Place(one.module, one.node, message)


def _doubled_leaf(same: list[Reduction]) -> str:
    """The entry of a dictionary that is already summed, every time that it is reduced, beside others that are not."""
    each = [one.operand.fields for one in same]
    for name, first in (each[0] or {}).items():
        found = [fields[name] for fields in each if fields is not None and name in fields]
        summed = all(AS_SUMMED in one.marks and one.level == Level.NO and not one.host for one in found)
        if summed and len(found) == len(each) and first.parts is None is first.fields:
            return repr(name)
    return ""


def is_doubled(reduction: Reduction) -> bool:
    """Whether what is reduced is equal on all devices because it was reduced before."""
    operand = reduction.operand
    return operand.level == Level.NO and operand.reduced and not operand.host
