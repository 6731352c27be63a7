"""JM112: specs or shardings in another order than the arguments or results that they are named after."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.copied_batches import copied_batches
from jaxmigrate.flow.counts import results
from jaxmigrate.flow.exchanged_gathers import exchanged_gathers
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jits import made_with_shardings, sharded_jits, spec_in
from jaxmigrate.flow.kinds_of_names import TREES, kind_of, spec_name
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.flow.specs import spec_axes
from jaxmigrate.flow.unlike_parameters import averages_gradients
from jaxmigrate.program.collectives import PMAPS, SHARD_MAPS, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Argument, Constant, External, Function

CODE = "JM112"
TRAINED = re.compile(r"(^|_)(train(ing|er)?|opt(im|imizer)?)_?state$")
OF_DATA = re.compile(r"(^|_)(batch|data|dp|replicas?)$")  # the axes that batches are split over, by their names


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
    yield from _by_calls(facts)
    yield from _crossed(facts)
    yield from _gathered_elsewhere(facts)
    yield from _same_batches(facts)


def _by_calls(facts: Facts) -> Iterator[Finding]:
    """Shardings of jits of functions out of sight, by what their calls pass, and call what they give."""
    seen = {jitted.made.node for jitted in sharded_jits(facts)}
    told: set[tuple[ast.expr, str]] = set()
    for made in made_with_shardings(facts):
        if made.node in seen or not isinstance(made.callee, External) or made.callee.name not in JITS:
            continue
        for call in made.module.table.calls:
            values = facts.resolver.values(call.func, made.module) if call is not made.node else ()
            if not any(isinstance(one, Application) and one.node is made.node for one in values):
                continue
            above = made.module.table.parents.get(call)
            target = above.targets[0] if isinstance(above, ast.Assign) else None
            gives = [last_name(one) for one in target.elts] if isinstance(target, ast.Tuple) else []
            for keyword, names in (("in_shardings", [last_name(one) for one in call.args]), ("out_shardings", gives)):
                if (made.node, keyword) not in told:
                    told.add((made.node, keyword))
                    yield from _swapped(argument(made.arguments, None, keyword), keyword, names, facts)


def _gathered_elsewhere(facts: Facts) -> Iterator[Finding]:
    """Parameters that are gathered along another dimension than is split, but as the spec of another says."""
    for found in exchanged_gathers(facts):
        message = (
            f"in_specs: {found.own.name} is gathered along dimension {found.place}, which the spec of "
            f"{found.other.name} splits, and its own does not; they have changed places"
        )
        way = (Step(found.module, found.node, "gathered here"),)
        yield from facts.finding(found.own.module, found.own.spec, CODE, message, way)


def _same_batches(facts: Facts) -> Iterator[Finding]:
    """Batches of which all devices are given a copy each, as they are of all else."""
    told: set[ast.AST | None] = set()
    for one in copied_batches(facts):
        statement = one.module.table.statement_of(one.node)
        if statement in told:
            continue
        told.add(statement)
        message = (
            f"each device is given all of {one.name}, as of everything else, and so computes what the others do: "
            "divide it among them, as by reshape((n, -1, ...))"
        )
        yield from facts.finding(one.module, one.node, CODE, message)


class _Entries(NamedTuple):
    """Specs, axes or shardings, with the names of what each is for; `axis` is a pmap's.

    `averages`: the pmap averages gradients over its devices.
    """

    given: Argument | None
    keyword: str
    names: Sequence[str]
    axis: str = ""
    replicated: frozenset[int] = frozenset()  # of a pmap's arguments, those that calls give a copy for each device
    averages: bool = False


def _crossed(facts: Facts) -> Iterator[Finding]:
    """Parameters or a state split over the axis of the batches, and the batch replicated, by the names of both."""
    told: set[ast.AST] = set()
    for one in _named(facts):
        node = one.given.expression if one.given is not None else None
        listed = facts.resolver.container(node, one.given.module) if node is not None and one.given else None
        if node in told or listed is None or isinstance(listed[0], ast.Dict) or len(listed[0].elts) != len(one.names):
            continue
        axes = [_axes(entry, listed[1], one.axis, facts) for entry in listed[0].elts]
        found = _split_tree(one.names, axes, one.replicated)
        if node is not None and found is not None and (found[0] not in one.replicated or one.averages):
            told.add(node)
            tree, data = found
            split = "the devices" if one.axis else ", ".join(map(repr, sorted(axes[tree] or ())))
            message = (
                f"{one.keyword}: {one.names[tree]} is split over {split}, and {one.names[data]} is the same on all "
                "devices; it should be the other way round"
            )
            if tree in one.replicated:
                message = (
                    f"{one.keyword}: {one.names[tree]} is a copy for each device, and {one.names[data]} is the same on "
                    "all of them: they all compute the same; split it, and map over it by 0"
                )
            yield from facts.finding(listed[1], listed[0].elts[tree], CODE, message)


def _split_tree(
    names: Sequence[str], axes: Sequence[frozenset[str] | None], copies: Collection[int]
) -> tuple[int, int] | None:
    """The places of a tree that is split over an axis for batches and of a batch, where all batches are replicated.

    A state of training is no array to split: it is enough that nothing else is. `copies` are those of a pmap's
    arguments that are equal on all devices, and so no batch.
    """
    kinds = [kind_of(name) for name in names]
    data = [number for number, kind in enumerate(kinds) if kind == "data"]
    cut = next((n for n, name in enumerate(names) if _is_cut(name, axes[n])), None)
    others = [n for n in range(len(names)) if n != cut and axes[n] == frozenset()]
    if cut is not None and len(others) == len(names) - 1 and others:
        return cut, min(data, default=others[0])
    if not data or any(axes[number] != frozenset() for number in data):
        return None
    beside = (axes[n] or () for n, kind in enumerate(kinds) if not kind and n not in copies)
    if any(OF_DATA.search(axis) for one in beside for axis in one):
        return None  # that may be the batch: `rays`
    trees = (number for number, kind in enumerate(kinds) if kind in TREES)
    split = next((n for n in trees if any(map(OF_DATA.search, axes[n] or ()))), None)
    return None if split is None else (split, data[0])


def _is_cut(name: str, axes: frozenset[str] | None) -> bool:
    """Whether a state of training, which has single numbers in it, is to be split whole over some axis."""
    return bool(axes) and TRAINED.search(name.lower()) is not None


def _named(facts: Facts) -> Iterator[_Entries]:
    """What lays out arguments, with what these are called: by the function's parameters, or where it is called."""
    averaging = {found.application.node for found, reading in facts.readings if averages_gradients(reading)}
    for found in facts.all_maps:
        if found.name in SHARD_MAPS:
            yield _Entries(found.keyword("in_specs", 2), "in_specs", found.parameters())
        elif found.name in PMAPS and found.axes:  # not of an ensemble, whose members share their batches
            averages = found.application.node in averaging
            axis = "batch" if averages else min(found.axes)
            copies = facts.replicated(found)
            yield _Entries(found.keyword("in_axes", 2), "in_axes", found.parameters(), axis, copies, averages)
    for one in facts.shard_calls:
        names = ["" if isinstance(given, ast.Starred) else last_name(given) for given in one.call.args]
        yield _Entries(argument(one.made.arguments, 2, "in_specs"), "in_specs", names)
    for jitted in sharded_jits(facts):
        yield _Entries(jitted.keyword("in_shardings"), "in_shardings", jitted.parameters(facts.resolver) or [])


def _axes(node: ast.expr, module: Module, axis: str, facts: Facts) -> frozenset[str] | None:
    """The axes that an entry splits over, None where they are not known."""
    if not axis:
        return spec_axes(*spec_in(node, module, facts.resolver), facts.resolver)
    value = facts.resolver.value(node, module)
    if not isinstance(value, Constant):
        return None
    return frozenset() if value.value is None else frozenset([axis])


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
    So it is also where both are called what the other's argument is.
    """
    for number, spec in enumerate(specs):
        other = next((n for n, name in enumerate(names) if spec and name.lower() == spec), number)
        if other > number and specs[other] == names[number].lower() and names.count(names[other]) == 1:
            yield number, other
            return
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
