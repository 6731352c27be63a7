"""What a run showed of the arrays of host code, or a reader presumes, where nothing else is known of them.

A call that made arrays with one slice for each device makes them from here on; what nothing in sight made is taken when
a mapped function is given it. Both are followed as any other stacked array then, and so is all that speaks against it.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import cast

from jaxmigrate.flow.layout import operations
from jaxmigrate.flow.layout.advice import shortened
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import Idiom
from jaxmigrate.flow.layout.model import BATCH, OBSERVED, PRESUMED, Frame, Place
from jaxmigrate.flow.layout.values import NOTHING, PLAIN, Abstract, Dct, Plain, Ref, Seq, Tup, is_empty, is_tracked
from jaxmigrate.program.declarations import Kind as Declared
from jaxmigrate.program.modules import Module
from jaxmigrate.program.observed import FIRST_ARGUMENT, GIVEN, MADE, OUTPUT, Fact, Making, Site, Spot
from jaxmigrate.program.once import once
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import External, Function

IN_PART = Stacked.ORIGIN.reason("comes from code that fix can read in one place, and that it cannot in another")
DOES = {"replicate": "gives each device the same", "split": "splits a batch over the devices"}


def spot_of(node: ast.expr | ast.arg, module: Module) -> Spot:
    """Where an expression stands, as observations name it."""
    return (*site_of(node, module), node.end_lineno or 0, node.end_col_offset or 0)


def site_of(node: ast.expr | ast.arg, module: Module) -> Site:
    """Where a map stands."""
    before = module.lines[node.lineno - 1].encode()[: node.col_offset]
    return module.path, node.lineno, len(before.decode(errors="replace")) + 1


def made(it: Interpreter, value: Abstract, node: ast.Call, frame: Frame) -> Abstract:
    """The value of a call: of one that was seen to make arrays for mapped functions, these."""
    trust = it.trust
    if not (trust.observed.made or trust.presumed.made) or not isinstance(value, Plain):
        return value
    spot = spot_of(node, frame.module)
    making = trust.observed.made.get(spot) or trust.presumed.made.get(spot)
    return _entered(it, _idiom(it, making, node, frame), making, node, (MADE, spot), frame) if making else value


def bound(it: Interpreter, value: Abstract, node: ast.arg | ast.expr, frame: Frame) -> Abstract:
    """What a parameter, name or attribute gets: one that is presumed to hold arrays for mapped functions, these."""
    if (frame.module.path, node.lineno) not in _presumed_lines(it):
        return value
    spot, place = spot_of(node, frame.module), cast("ast.expr", node)  # nothing but its place is asked for
    making = it.trust.presumed.made.get(spot)
    if making is None:
        return value
    op = it.operations.ops.get(place)
    if _is_unmade(it, value):
        return _entered(it, Idiom(making.way, place, PRESUMED), making, place, (MADE, spot), frame)
    if op is not None and is_tracked(value):
        it.block_all([value, Ref(op.group)], IN_PART, node, frame.module)
    return value


def is_presumed(it: Interpreter, parameter: ast.arg, module: Module) -> bool:
    """Whether a parameter is presumed to get arrays for mapped functions from callers out of sight."""
    known = (module.path, parameter.lineno) in _presumed_lines(it)
    return known and spot_of(parameter, module) in it.trust.presumed.made


@once
def _presumed_lines(it: Interpreter) -> set[tuple[Path, int]]:
    """The lines on which something is presumed to make arrays for mapped functions."""
    return {(path, line) for path, line, *_ in it.trust.presumed.made}


def given(
    it: Interpreter, site: ast.expr, index: int, value: Abstract, node: ast.expr, frame: Frame, call: ast.AST
) -> Abstract:
    """What a mapped function is given: where nothing in sight made it, what was seen of it.

    What a call gives to other functions, too, stays as it is.
    """
    key = (site_of(site, it.sites[site].module), index)
    making = it.trust.observed.given.get(key) or it.trust.presumed.given.get(key)
    if making is None:
        return value
    op = it.operations.ops.get(node)
    it.reads.add(("unmapped", call))
    if call in it.maps.unmapped:
        if op is not None and op.form in (OBSERVED, PRESUMED):
            it.block_all([value, Ref(op.group)], IN_PART, node, frame.module)
        return value
    if op is None and isinstance(value, Ref) and making.way == "split" and not making.calls:
        says = f"`{shortened(node)}` holds a batch with rows for each device"
        it.lean([value], Assumption("likely", "splits", "", says, frame.module, node))
        it.changed |= it.joined_group(BATCH, node).unify(value.group)
        return value
    if _is_unmade(it, value):
        return _entered(it, Idiom(making.way, node, _form(making)), making, node, (GIVEN, *key), frame)
    if isinstance(value, Seq) and is_empty(value) and not it.final:
        return NOTHING  # of which nothing says yet what is in it
    if op is not None and op.form in (OBSERVED, PRESUMED):  # what it held at first was not all
        it.block_all([value, Ref(op.group)], IN_PART, node, frame.module)
    return value


def _is_unmade(it: Interpreter, value: Abstract) -> bool:
    """Whether nothing in sight made arrays of a value for the devices; a container may still be filled with some."""
    if isinstance(value, Dct | Seq | Tup):
        return not is_tracked(value) and (it.final or not is_empty(value))
    return isinstance(value, Plain)


def output(it: Interpreter, site: ast.expr, place: Place, name: str) -> Assumption | None:
    """Why the result of a map may be taken for equal on all devices: it was, at every call."""
    if not it.trust.observed.outputs:
        return None
    module = it.sites[site].module
    key = (site_of(site, module), place)
    calls = it.trust.observed.outputs.get(key)
    if calls is None:
        return None
    field = place[-1] if place and not name else ""
    what = (
        f"`{name}`" if name else f"the result's field `{field}`" if isinstance(field, str) and field else "the result"
    )
    says = f"{what} was equal on all {it.trust.observed.devices} devices at {_calls(calls)}"
    return Assumption("observed", "equal", name, says, module, site, (OUTPUT, *key))


def _idiom(it: Interpreter, making: Making, node: ast.Call, frame: Frame) -> Idiom:
    """How a call makes its arrays: as it is written, if it is known but for the number of devices; else of what."""
    written = it.idioms.of_any_count(node, frame.module)
    if written is not None and written.kind == making.way:
        return written
    if not making.of:
        return Idiom(making.way, node, _form(making))
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else node
    return Idiom(making.way, node.args[0] if making.of == FIRST_ARGUMENT else receiver, "tree")


def _form(making: Making) -> str:
    """How what comes from out of sight is entered: with a check of its axes where no run has shown that it has them."""
    return OBSERVED if making.calls or making.proven else PRESUMED


def _entered(it: Interpreter, idiom: Idiom, making: Making, node: ast.expr, fact: Fact, frame: Frame) -> Abstract:
    """The arrays of an expression that were seen to be made for the devices."""
    of = PLAIN if idiom.operand is node else it.evaluate(idiom.operand, frame)
    kind = making.way
    result = operations.make(it, kind, of, node, idiom.operand, idiom.form, frame)
    if idiom.form in (OBSERVED, PRESUMED) and isinstance(result, Ref):
        it.changed |= result.group.flatten()  # it is converted as a whole
    if making.proven:
        return result
    declared: Declared = "replicates" if kind == "replicate" else "splits"
    text = getattr(node, "arg", "") or shortened(node.func if isinstance(node, ast.Call) else node)
    name = _name_of(it, node, frame.module) if idiom.form == "tree" else ""
    if not making.calls:
        held = "the same slice for every device" if kind == "replicate" else "a batch split over all devices"
        says = f"`{text}` {'gives' if isinstance(node, ast.Call) else 'holds'} {held}"
        it.lean([result], Assumption("likely", declared, name, says, frame.module, node))
        return result
    seen = f"at {_calls(making.calls)} on {it.trust.observed.devices} devices"
    says = f"`{text}` {DOES[kind]}, as observed {seen}"
    if idiom.operand is node:
        held = "the same slice for every device" if kind == "replicate" else "a batch split over the devices"
        says = f"`{text}` {'gave' if isinstance(node, ast.Call) else 'held'} {held} {seen}"
    it.lean([result], Assumption("observed", declared, name, says, frame.module, node, fact))
    return result


def _name_of(it: Interpreter, node: ast.expr, module: Module) -> str:
    """What a declaration calls the function that a call calls, where that is known and takes what it makes them of."""
    called = it.resolver.value(node.func, module) if isinstance(node, ast.Call) else None
    if isinstance(called, Function):
        return it.trust.names_of(called)[0]
    return called.name if isinstance(called, External) else ""


def _calls(count: int) -> str:
    return "the one call" if count == 1 else f"all {count} calls"
