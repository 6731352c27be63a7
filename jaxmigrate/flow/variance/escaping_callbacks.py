"""Functions that are handed to code out of sight, which may run them: what they change is changed from then on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jaxmigrate.flow.variance.callees import Bound, Closure, Method, Transformed
from jaxmigrate.flow.variance.frames import Arguments, reachable
from jaxmigrate.flow.variance.lattice import AbstractValue, Callee, Choice, replace, union, unsure
from jaxmigrate.flow.variance.library import MUTATORS
from jaxmigrate.flow.variance.mutation_summary import changed_names
from jaxmigrate.flow.variance.run import Run
from jaxmigrate.program.values import Function


def run_all(run: Run, values: Iterable[AbstractValue]) -> None:
    """Runs every function in some values that stores something outside of itself."""
    held = [*values]
    storing = [one for one, callee in _functions(run, held) if _stores(run, callee)]
    for one in storing:
        given = replace(unsure(union(held)), places=reachable(Arguments(tuple(held))))
        run.apply(one, Arguments(rest=given), None)


def _functions(run: Run, values: Iterable[AbstractValue]) -> Iterator[tuple[AbstractValue, Callee]]:
    for value in values:
        callee = run.known_callee(value)
        if callee is not None:
            yield value, callee
        yield from _functions(run, [*(value.parts or ()), *(value.fields or {}).values()])


def _stores(run: Run, callee: Callee) -> bool:
    match callee:
        case Closure(function=function):
            if function.node not in run.shared.storing:
                run.shared.storing[function.node] = stores(function.node)
            return run.shared.storing[function.node]
        case Bound(callee=inner) | Transformed(callee=inner):
            return inner.callee is not None and _stores(run, inner.callee)
        case Method(receiver=receiver, name=name):
            found = (value for one in run.made_of(receiver) for value in run.resolver.attribute(one, name))
            return (
                name in MUTATORS
                or any(isinstance(value, Function) for value in found)
                or run.changes_object(receiver, name)
            )
        case Choice(ways=ways):
            return any(_stores(run, way) for way in ways)
    return False


def stores(node: ast.AST) -> bool:
    """Whether a function may change something that outlives it."""
    inside = list(ast.walk(node))
    return any(isinstance(one, ast.Nonlocal | ast.Global) for one in inside) or any(True for _ in changed_names(inside))
