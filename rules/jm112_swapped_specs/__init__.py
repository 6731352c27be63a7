"""JM112: specs or shardings in another order than the arguments or results that they are named after."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.counts import results
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jits import sharded_jits
from jaxmigrate.flow.kinds_of_names import kind_of, spec_name
from jaxmigrate.program.collectives import SHARD_MAPS
from jaxmigrate.program.values import Argument, Function

CODE = "JM112"
TREES = ("a state", "parameters", "an optimizer's state")  # whose specs are trees that fit nothing else


def check(facts: Facts) -> Iterator[Finding]:
    """Specs of shard_maps and shardings of jits, for arguments and for results."""
    for found in facts.all_maps:
        if found.name in SHARD_MAPS:
            yield from _swapped(found.keyword("in_specs", 2), "in_specs", found.parameters(), facts)
            if found.mapped is found.function:
                yield from _swapped(found.keyword("out_specs", 3), "out_specs", _results(found.function), facts)
    for jitted in sharded_jits(facts):
        names = jitted.parameters(facts.resolver)
        yield from _swapped(jitted.keyword("in_shardings"), "in_shardings", names or [], facts)
        yield from _swapped(jitted.keyword("out_shardings"), "out_shardings", _results(jitted.function), facts)


def _results(function: Function) -> list[str]:
    """The names of what a function returns, empty for what has none."""
    returned = results(function)
    return [one.id if isinstance(one, ast.Name) else "" for one in (returned.elts if returned is not None else ())]


def _swapped(given: Argument | None, keyword: str, names: Sequence[str], facts: Facts) -> Iterator[Finding]:
    if given is None or given.expression is None:
        return
    listed = facts.resolver.container(given.expression, given.module)
    if listed is None or isinstance(listed[0], ast.Dict) or len(listed[0].elts) != len(names):
        return
    specs = listed[0].elts
    for number, other in _pairs([spec_name(one) for one in specs], names):
        message = (
            f"{keyword}: {ast.unparse(specs[number])[:60]} stands for {names[number]}, and by its name it is for "
            f"{names[other]}; write them in the order of the {'results' if keyword.startswith('out') else 'arguments'}"
        )
        yield from facts.finding(listed[1], specs[number], CODE, message)
        return


def _pairs(specs: Sequence[str], names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The specs that stand in another's place, with that place.

    The other stands in theirs, or has no kind by its name: then the spec is one for a tree, which fits nothing else.
    """
    wanted, had = [kind_of(one) if one else "" for one in specs], [kind_of(one) if one else "" for one in names]
    for number, kind in enumerate(wanted):
        places = [n for n, one in enumerate(had) if one == kind]
        if not kind or not had[number] or had[number] == kind or len(places) != 1 or wanted.count(kind) != 1:
            continue
        other = places[0]
        crossed = wanted[other] == had[number]
        alone = not wanted[other] and kind in TREES
        if crossed or alone:
            yield number, other
