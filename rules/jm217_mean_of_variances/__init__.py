"""JM217: devices normalise by the mean of their variances, which leaves out how far their means lie apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import AXES, Facts, Place
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.flow.variance import AbstractValue, Reading
from jaxmigrate.flow.variance.lattice import MEAN_SPREAD, SPREAD
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

CODE = "JM217"
SPREADS = re.compile(r"(^|_)(var|vars|variances?|std|stddev|sigma)(_|$)")
MEANS = re.compile(r"(^|_)(mean|means|mu|avg|average|center|centre)(_|$)")


def check(facts: Facts) -> Iterator[Finding]:
    """Means of variances that a value is divided by once the mean of all is taken off, or that stand beside that."""

    def find(_: DeviceMap, reading: Reading) -> Iterator[Place]:
        averaged = (one.operand for one in reading.reductions if one.name == "jax.lax.pmean")
        for mark in dict.fromkeys(mark for operand in averaged for mark in _spreads(operand)):
            module, node = reading.variances.get(mark, (None, None))
            if module is None or node is None:
                continue
            if MEAN_SPREAD + mark in reading.spreads or _is_beside_mean(node, module):
                message = (
                    f"each device's own variance is averaged over {AXES}: too small by that of the devices' means; "
                    "average the squares of x less the mean over all devices"
                )
                yield Place(module, node, message)

    told = set[tuple[str, int]]()
    for finding in facts.along_axes(CODE, find, unmapped=True):
        told.add((finding.path, finding.line))
        yield finding
    for module, spread in _by_names(facts):
        message = (
            "each device's own variance is averaged over the devices: too small by that of their means; average the "
            "squares of x less the mean over all devices"
        )
        for finding in facts.finding(module, spread, CODE, message):
            if (finding.path, finding.line) not in told:
                yield finding


def _by_names(facts: Facts) -> Iterator[tuple[Module, ast.expr]]:
    """Variances that are averaged right after they were taken, beside means: also where no map is in sight."""
    for module, call in facts.calls("pmean"):
        given = call.args[0] if call.args else None
        made = nearest(given, module) if isinstance(given, ast.Name) else None
        if made is None or made.path or not isinstance(made.value, ast.Call):
            continue
        if last_name(made.value.func) not in ("var", "std") or not _is_beside_mean(made.value, module):
            continue
        if facts.resolver.value(call.func, module) == External("jax.lax.pmean"):
            yield module, made.value


def _spreads(value: AbstractValue) -> Iterator[str]:
    yield from (mark for mark in value.marks if mark.startswith(SPREAD))
    for one in value.parts or ():
        yield from _spreads(one)


def _is_beside_mean(node: ast.expr, module: Module) -> bool:
    """Whether a variance is bound to such a name, and a mean is made beside it, or put together by the same call."""
    statement, function = module.table.statement_of(node), module.table.function_of(node)
    if not isinstance(statement, ast.Assign) or not isinstance(function, ast.FunctionDef):
        return False
    if not any(SPREADS.search(name) for name in _bound(statement)):
        return False
    around = {ast.dump(one.func) for one in _calls(statement) if node in ast.walk(one) and one is not node}
    for other in own_statements(function):
        if isinstance(other, ast.Assign) and other is not statement and not any(map(SPREADS.search, _bound(other))):
            named = any(map(MEANS.search, _bound(other)))
            if named or any(ast.dump(one.func) in around for one in _calls(other)):
                return True
    return any(map(MEANS.search, _bound(statement)))


def _bound(statement: ast.Assign) -> list[str]:
    return [one.id for target in statement.targets for one in ast.walk(target) if isinstance(one, ast.Name)]


def _calls(statement: ast.Assign) -> list[ast.Call]:
    return [one for one in ast.walk(statement.value) if isinstance(one, ast.Call)]
