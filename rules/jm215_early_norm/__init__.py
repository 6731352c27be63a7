"""JM215: gradients are clipped, or their norm is taken, before they are reduced."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.early_norms import early_norms, kept_norms
from jaxmigrate.flow.facts import AXES, Facts, Place
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.variance import AbstractValue, Reading, Reduction
from jaxmigrate.flow.variance.lattice import NORMED, RESIZED, UNREDUCED, leaves_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import calls_of, last_name

CODE = "JM215"
SAID = re.compile(r"#.*\b(before|prior to)\b.*(pmean|psum|reduc|averag|aggregat|sync)", re.IGNORECASE)
COMMENT = 6  # lines above a reduction in which its comment may stand


def check(facts: Facts) -> Iterator[Finding]:
    """Reductions of gradients that a norm of a device's own has changed, and such norms beside a later reduction."""

    def find(_: DeviceMap, reading: Reading) -> Iterator[Place]:
        resized = [one for one in reading.reductions if _is_resized(one.operand)]
        for one in (one for one in resized if not _is_said(one.module, one.node)):
            message = (
                f"gradients are reduced over {AXES} after each device has clipped or scaled them by a norm of its own; "
                "reduce them first"
            )
            yield Place(one.module, one.node, message)
        gradients = [one for one in reading.reductions if _is_gradient(one.operand)]
        if resized or not gradients:
            return
        used = {mark for one in reading.reductions if one not in gradients for mark in _norms(one.operand)}
        for mark in used & reading.norms.keys():
            module, node = reading.norms[mark]
            if any(_has_both(module, node, one) for one in gradients):
                continue
            message = (
                f"the norm of a device's own gradients, which are reduced over {AXES} after it: the mean of such norms "
                "is not the norm of the mean; take it after the reduction"
            )
            yield Place(module, node, message)

    told: set[tuple[str, int, int]] = set()
    for finding in facts.along_axes(CODE, find, unmapped=True):
        told.add((finding.path, finding.line, finding.column))
        yield finding
    for finding in _by_names(facts):
        if (finding.path, finding.line, finding.column) not in told:
            told.add((finding.path, finding.line, finding.column))
            yield finding


def _by_names(facts: Facts) -> Iterator[Finding]:
    """What is called gradients, where it is not in sight what they are."""
    for module, call in kept_norms(facts):
        message = "this is the norm of a device's own gradients, which are reduced below: take it after the reduction"
        yield from facts.finding(module, call, CODE, message)
    for module, call in early_norms(facts):
        message = (
            "gradients are reduced here after each device has clipped or scaled them by a norm of its own; reduce them "
            "first"
        )
        yield from facts.finding(module, call, CODE, message) if not _is_said(module, call) else ()


def _has_both(module: Module, norm: ast.expr, reduction: Reduction) -> bool:
    """Whether the norm is taken of the reduced gradients as well: the two are compared."""
    around = reduction.module.table.function_of(reduction.node)
    own = module.table.function_of(norm)
    name = getattr(own, "name", "") if own is not around else last_name(norm.func) if isinstance(norm, ast.Call) else ""
    calls = calls_of(around) if around is not None and name else ()
    return any(last_name(call.func) == name and call.lineno > reduction.node.lineno for call in calls)


def _is_said(module: Module, node: ast.expr) -> bool:
    """Whether a comment right above says that this is done before the reduction."""
    return any(SAID.search(line) for line in module.lines[max(0, node.lineno - 1 - COMMENT) : node.lineno])


def _is_resized(value: AbstractValue) -> bool:
    return any(one.gradient and RESIZED in one.marks for one in leaves_of(value))


def _is_gradient(value: AbstractValue) -> bool:
    return any(one.gradient and UNREDUCED in one.marks for one in leaves_of(value))


def _norms(value: AbstractValue) -> Iterator[str]:
    for one in leaves_of(value):
        if not one.gradient:
            yield from (mark for mark in one.marks if mark.startswith(NORMED))
