"""JM111: blocks that are taken for other parts of their arrays than they are: in a sum, or by an index."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step, shown
from jaxmigrate.flow.blocks import Clash, Evaluator
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.mapped_blocks import OWN_AXES, Given, bodies, shown_as
from jaxmigrate.flow.paired_rows import unlike_rows
from jaxmigrate.flow.readings import axes_of_one

CODE = "JM111"


def check(facts: Facts) -> Iterator[Finding]:
    """Products and einsums in the bodies of shard_maps whose blocks do not fit each other, and parts divided again."""
    told: set[ast.expr] = set()
    for one in bodies(facts):
        for pair in unlike_rows(one, facts.resolver):
            if pair.whole.spec not in told:
                told.add(pair.whole.spec)
                message = (
                    f"{pair.whole.name} is whole on each device, and {pair.split.name}, whose rows are taken together "
                    f"with its own, is split over {shown(pair.axes)}: the numbers of rows differ; split both"
                )
                place = Step(pair.module, pair.node, "the rows of both are taken here")
                yield from facts.finding(pair.whole.module, pair.whole.spec, CODE, message, (place,))
        found, given, _, body = one
        alone = axes_of_one(found, facts.resolver)
        for part in body.chosen:
            if part.node not in told:
                told.add(part.node)
                message = (
                    f"{shown_as(part.held)} is split along {part.axis!r} by its spec: a device has only its block, "
                    "but axis_index selects from it as if it were whole; write P() for it, or leave the index out"
                )
                yield from facts.finding(part.module, part.node, CODE, message)
        for clash in body.clashes:
            own = any(OWN_AXES.search(axis.lower()) for axes in clash.axes for axis in axes)
            fits = clash.axes[0] - alone == clash.axes[1] - alone  # where there is one device, a block is all
            if clash.node not in told and not own and not fits:
                told.add(clash.node)
                spec = _spec(clash, body, given)
                way = (Step(clash.module, clash.node, "they meet here"),) if spec is not None else ()
                module, node = (spec.module, spec.spec) if spec is not None else (clash.module, clash.node)
                yield from facts.finding(module, node, CODE, _message(clash), way)


def _spec(clash: Clash, body: Evaluator, given: list[Given]) -> Given | None:
    """The spec that splits one of the operands, where that is a parameter of the mapped function."""
    pairs = zip((clash.one, clash.other), clash.axes, strict=True)
    split = [node for node, axes in pairs if axes and isinstance(node, ast.Name) and body.is_parameter(node)]
    return next((one for one in given if split and one.name == split[-1].id), None)


def _message(clash: Clash) -> str:
    one, other = (shown_as(node) for node in (clash.one, clash.other))
    split, others = clash.axes
    if isinstance(clash.node, ast.BinOp) and not isinstance(clash.node.op, ast.MatMult):
        return (
            f"{other} is split over {shown(others)}, and the last dimension of {one}, which it is for, is whole: the "
            f"blocks do not fit; write P() for {other}"
        )
    if split and others:
        return (
            f"the dimension of {one} that is summed over is split over {shown(split)}, that of {other} over "
            f"{shown(others)}: the blocks do not fit; split both over the same axis in in_specs"
        )
    whole, cut, axes = (one, other, others) if others else (other, one, split)
    return (
        f"the dimension that is summed over is split over {shown(axes)} in {cut} and whole in {whole}: the blocks do "
        f"not fit; split {whole} as well, split another dimension of {cut}, or all_gather it"
    )
