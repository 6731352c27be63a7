"""JM107: in_specs or in_axes of another length than the arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.program.collectives import PMAP
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.terminal import plural

CODE = "JM107"


def check(facts: Facts) -> Iterator[Finding]:
    """Tuples of specs or axes that no call of the mapped function can match, or that a call in sight does not."""
    for found in facts.device_maps:
        keyword = "in_axes" if found.name == PMAP else "in_specs"
        given = found.keyword(keyword, None if found.name == PMAP else 2)
        if given is None or not isinstance(given.expression, ast.Tuple):
            continue
        if found.keyword("static_broadcasted_argnums") is not None:
            continue  # axes of static arguments may be left out at the end
        if any(isinstance(element, ast.Starred) for element in given.expression.elts):
            continue
        count = len(given.expression.elts)
        taken = positional(found)
        if taken is None or taken[0] <= count <= taken[1]:
            continue
        message = f"{keyword} is for {plural(count, 'argument')}, but {_name(found)} takes {_shown(*taken)}"
        yield from facts.finding(given.module, given.expression, CODE, message)


def positional(found: DeviceMap) -> tuple[int, int] | None:
    """How many positional arguments a mapped function takes, at least and at most; None where it takes any number."""
    spec = found.function.node.args
    if spec.vararg is not None:
        return None
    names = found.parameters()
    optional = {name for name, _ in defaults_of(spec)}
    return len([name for name in names if name not in optional]), len(names)


def _name(found: DeviceMap) -> str:
    node = found.function.node
    return "the lambda" if isinstance(node, ast.Lambda) else node.name


def _shown(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"
