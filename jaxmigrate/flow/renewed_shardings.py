"""Donated states that jit gives back with another sharding than it takes them with: the next call is refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jits import SHARDINGS, made_with_shardings, spec_in
from jaxmigrate.flow.kinds_of_names import TREES, kind_of, spec_name
from jaxmigrate.flow.specs import spec_axes
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Application, Constant


class Renewed(NamedTuple):
    """A donated argument's sharding, and the shardings of the results, none of which is the same."""

    taken: ast.expr
    given: ast.expr
    module: Module


def unlike_renewed(facts: Facts) -> Iterator[Renewed]:
    """The shardings of donated parameters and states of jits, by their names, that no result has."""
    for made in made_with_shardings(facts):
        donated, place = (argument(made.arguments, None, name) for name in ("donate_argnums", "out_shardings"))
        taken, given = (_listed(made, name, facts) for name in SHARDINGS)
        if taken is None or given is None or donated is None or place is None or place.expression is None:
            continue
        results = [_axes(one, given[1], facts) for one in given[0]]
        texts = {ast.unparse(one) for one in given[0]}
        numbers = facts.resolver.literal(donated)
        for number in numbers if isinstance(numbers, tuple) else (numbers,):
            own = taken[0][number] if isinstance(number, int) and 0 <= number < len(taken[0]) else None
            if own is None or kind_of(spec_name(own)) not in TREES or ast.unparse(own) in texts or None in results:
                continue
            axes = _axes(own, taken[1], facts)
            if axes is None or (axes and axes not in results):
                yield Renewed(own, place.expression, place.module)


def _listed(made: Application, keyword: str, facts: Facts) -> tuple[list[ast.expr], Module] | None:
    """The shardings that are listed, or the one that there is."""
    given = argument(made.arguments, None, keyword)
    if given is None or given.expression is None:
        return None
    listed = facts.resolver.container(given.expression, given.module)
    if listed is None:
        return [given.expression], given.module
    return (listed[0].elts, listed[1]) if isinstance(listed[0], ast.Tuple | ast.List) else None


def _axes(node: ast.expr, module: Module, facts: Facts) -> frozenset[str] | None:
    """The axes that a single sharding names; None for a tree of them, and for what jit may choose."""
    if facts.resolver.value(node, module) == Constant(None):
        return None
    return spec_axes(*spec_in(node, module, facts.resolver), facts.resolver)
