"""Specs that split an array along another dimension than the batches beside it, or than what it is returned for.

Batches belong together by their names: inputs and labels, tokens and masks. What splits the examples of one over the
devices splits those of the others, along the same dimension.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.blocks import Block, spec_block
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jits import sharded_jits, spec_in
from jaxmigrate.flow.mapped_blocks import Body, bodies
from jaxmigrate.flow.readings import is_data
from jaxmigrate.program.collectives import SHARD_MAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Argument

EXAMPLES = re.compile(r"(^|_)(batch|data|dp|fsdp|replicas?|devices?|hosts?)$")
SIDES = frozenset({"q", "k", "v", "kv", "query", "key", "value", "src", "tgt", "source", "target", "left", "right"})
PLACING = frozenset({"device_put", "with_sharding_constraint", "make_array_from_process_local_data"})


class Placed(NamedTuple):
    """An array that a spec lays out, by its name."""

    name: str
    node: ast.expr
    module: Module
    block: Block


class Unlike(NamedTuple):
    """A spec, what it splits and where, and the one beside it that splits elsewhere."""

    one: Placed
    other: Placed
    axis: str
    places: tuple[int, int]


def unlike_batches(facts: Facts) -> Iterator[Unlike]:
    """Batches of one function that an axis splits along unlike dimensions."""
    for group in _groups(facts):
        by_place: dict[str, dict[int, list[Placed]]] = defaultdict(lambda: defaultdict(list))
        for one in group:
            for place, axes in enumerate(one.block.dims):
                for axis in axes or ():
                    by_place[axis][place].append(one)
        for axis, places in by_place.items():
            if not EXAMPLES.search(axis.lower()) or len(places) != 2:
                continue
            (first, few), (second, many) = sorted(places.items(), key=lambda pair: (len(pair[1]), -pair[0]))
            if len(few) == 1 and few[0] not in many and (len(many) > 1 or first > second):
                yield Unlike(few[0], many[0], axis, (first, second))


class Foreign(NamedTuple):
    """A batch whose examples another axis splits than those of several beside it."""

    one: Placed
    other: Placed
    axes: tuple[str, str]


def foreign_axes(facts: Facts) -> Iterator[Foreign]:
    """Batches of one function of which one is split over an axis that is for no data by its name."""
    for group in _groups(facts):
        split = [(one, sorted(one.block.dims[0] or ())) for one in group if one.block.dims]
        for one, axes in split:
            others = [(other, names) for other, names in split if other is not one]
            first = others[0] if len(others) > 1 else None
            if first is None or len(axes) != 1 or EXAMPLES.search(axes[0].lower()):
                continue
            usual = first[1][0] if len(first[1]) == 1 and all(names == first[1] for _, names in others) else ""
            if EXAMPLES.search(usual.lower()):
                yield Foreign(one, first[0], (axes[0], usual))


def _groups(facts: Facts) -> Iterator[list[Placed]]:
    """The batches of each function: what it is given, and what it places."""
    for found in facts.all_maps:
        if found.name in SHARD_MAPS:
            yield [*_listed(found.keyword("in_specs", 2), found.parameters(), facts)]
    for jitted in sharded_jits(facts):
        yield [*_listed(jitted.keyword("in_shardings"), jitted.parameters(facts.resolver) or [], facts)]
    placed: dict[tuple[Module, ast.AST | None], list[Placed]] = defaultdict(list)
    for module, call in facts.calls(*PLACING):
        if len(call.args) < 2 or not isinstance(call.func, ast.Name | ast.Attribute):
            continue
        array, given = call.args[:2]
        if last_name(call.func) == "make_array_from_process_local_data":
            array, given = given, array
        name = _name(array)
        block = spec_block(*spec_in(given, module, facts.resolver), facts.resolver) if is_data(name) else None
        if block is not None:
            placed[module, module.table.function_of(call)].append(Placed(name, call, module, block))
    yield from placed.values()


def _listed(given: Argument | None, names: list[str], facts: Facts) -> Iterator[Placed]:
    """The specs of arguments that are batches by their names."""
    for name, spec, module in _entries(given, names, facts):
        block = spec_block(*spec_in(spec, module, facts.resolver), facts.resolver) if is_data(name) else None
        if block is not None:
            yield Placed(name, spec, module, block)


def _entries(given: Argument | None, names: list[str], facts: Facts) -> list[tuple[str, ast.expr, Module]]:
    """The specs that are listed for arguments, each with its name; none where there are more or fewer."""
    listed = facts.resolver.container(given.expression, given.module) if given and given.expression else None
    if listed is None or isinstance(listed[0], ast.Dict) or len(listed[0].elts) != len(names):
        return []
    return [(name, spec, listed[1]) for name, spec in zip(names, listed[0].elts, strict=True)]


def _name(node: ast.expr) -> str:
    """What an array is called: by its variable, or the entry of a batch that it is."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return last_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""


class Exchanged(NamedTuple):
    """A spec that has the entries of one beside it in another order, though both are for arrays of one kind."""

    node: ast.Call
    module: Module
    name: str
    other: str


def exchanged_entries(facts: Facts) -> Iterator[Exchanged]:
    """Specs of arguments whose names say that they are of one kind: `q_segment_ids` and `kv_segment_ids`."""
    for found in facts.all_maps:
        given = found.keyword("in_specs", 2) if found.name in SHARD_MAPS else None
        by_kind: dict[str, list[tuple[str, ast.Call, Module]]] = defaultdict(list)
        for name, entry, module in _entries(given, found.parameters(), facts):
            spec, kind = _written(entry), _kind(name)
            if spec is not None and kind:
                by_kind[kind].append((name, spec, module))
        for several in by_kind.values():
            (other, first, _), *rest = several
            texts = [ast.unparse(one) for one in first.args]
            for name, spec, module in rest:
                own = [ast.unparse(one) for one in spec.args]
                if own != texts and sorted(own) == sorted(texts):
                    yield Exchanged(spec, module, name, other)


def _kind(name: str) -> str:
    """What arguments of one kind have in common in their names; empty where nothing says so."""
    words = name.split("_")
    return "_".join(words[1:]) if len(words) > 2 or (len(words) == 2 and words[0] in SIDES) else ""


def _written(node: ast.expr) -> ast.Call | None:
    """The one spec that is written out in an entry."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Call) and last_name(n.func) in ("P", "PartitionSpec")]
    plain = len(found) == 1 and len(found[0].args) > 1 and not any(isinstance(a, ast.Starred) for a in found[0].args)
    return found[0] if plain else None


class Returned(NamedTuple):
    """A spec of a result, and how the result is split inside."""

    spec: ast.expr
    module: Module
    axis: str
    places: tuple[int, int]  # of the spec, and of the block


def unlike_results(facts: Facts) -> Iterator[Returned]:
    """Results whose specs say that they are split along another dimension than they are."""
    for body in bodies(facts):
        for path, spec, module in _results(body, facts):
            said, found = spec_block(spec, module, facts.resolver), body.inside.returned(path)
            if said is None or found is None or None in found.dims or found.partial or not found.dims:
                continue
            for place, axes in enumerate(said.dims):
                for axis in axes or ():
                    own = [n for n, split in enumerate(found.dims) if split and axis in split]
                    if own and place not in own and not any(axis in (one or ()) for one in said.dims[:place]):
                        written = facts.resolver.value(spec, module)
                        at = written.node if isinstance(written, Application) and written.module is module else spec
                        yield Returned(at, module, axis, (place, own[0]))


def _results(body: Body, facts: Facts) -> Iterator[tuple[tuple[int, ...], ast.expr, Module]]:
    given = body.map.keyword("out_specs", 3)
    if given is None or given.expression is None:
        return
    listed = facts.resolver.container(given.expression, given.module)
    if listed is None:
        yield (), given.expression, given.module
    elif isinstance(listed[0], ast.Tuple | ast.List):
        yield from (((number,), spec, listed[1]) for number, spec in enumerate(listed[0].elts))
