"""The blocks that shard_maps give their bodies, with the arrays that are given for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from jaxmigrate.flow.axis_values import bind_arguments, of_receiver
from jaxmigrate.flow.blocks import WHOLE, Block, Evaluator, rank_of, spec_block
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap, takes_blocks
from jaxmigrate.program.collectives import SHARD_MAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Argument, Partial

# One matrix for each device along these, beside which a product has a dimension more than its spec speaks of.
OWN_AXES = re.compile(r"expert|stage|pipe|layer|pop|member|ensemble|agent|island|replica|group|^(ep|pp|e)$")


class Given(NamedTuple):
    """A parameter of a mapped function with the place of its spec, and what that makes of the array."""

    name: str
    spec: ast.expr
    module: Module
    block: Block | None


LONGEST = 40  # characters of an expression in a message


def shown_as(node: ast.expr, otherwise: str = "an operand") -> str:
    """An expression as a message says it: by its text, or in other words where that is long."""
    text = ast.unparse(node)
    return text if len(text) <= LONGEST else otherwise


class Body(NamedTuple):
    """A mapped function with its parameters, and what was found by following their blocks through all of it."""

    map: DeviceMap
    given: list[Given]
    passed: list[int | None]  # how many dimensions the arrays have that all calls pass
    inside: Evaluator


def bodies(facts: Facts) -> list[Body]:
    """Every shard_map of a function in sight, or of a partial of one; worked out once."""
    return _bodies(facts, facts.resolver)


@once_each
def _bodies(facts: Facts, resolver: Resolver) -> list[Body]:
    found = [one for one in facts.all_maps if one.name in SHARD_MAPS and takes_blocks(one, resolver)]
    passed = _passed_ranks(facts) if found else {}
    return [_body(one, passed.get(one.application.node, []), resolver) for one in found]


def _body(found: DeviceMap, passed: list[int | None], resolver: Resolver) -> Body:
    given = [*_given(found, resolver)]
    blocks = {one.name: one.block for one in _with_ranks(given, passed) if one.block is not None}
    blocks |= {text: block for one in given for text, block in _entries(one.name, one.spec, one.module, resolver)}
    function, made = found.function, found.application
    arguments = found.mapped.arguments if isinstance(found.mapped, Partial) else ()
    bindings = {
        **bind_arguments(function, arguments, resolver, {}),
        **of_receiver(function.receiver, (made.node, made.module), resolver, {}),
    }
    inside = Evaluator(function.node, function.module, resolver, blocks, bindings)
    inside.run()
    return Body(found, given, passed, inside)


def _given(found: DeviceMap, resolver: Resolver) -> Iterator[Given]:
    specs = found.keyword("in_specs", 2)
    if specs is None or specs.expression is None:
        return
    listed = resolver.container(specs.expression, specs.module)
    names = found.parameters()
    if listed is None:
        pairs = [(name, specs.expression, specs.module) for name in names]
    elif isinstance(listed[0], ast.Dict) or any(isinstance(one, ast.Starred) for one in listed[0].elts):
        return
    else:
        pairs = [(name, spec, listed[1]) for name, spec in zip(names, listed[0].elts, strict=False)]
    for name, spec, module in pairs:
        yield Given(name, spec, module, spec_block(spec, module, resolver))


def _entries(name: str, spec: ast.expr, module: Module, resolver: Resolver) -> Iterator[tuple[str, Block]]:
    """The blocks of what stands in a dictionary of arrays, by what is written for each: `params['w']`."""
    listed = resolver.container(spec, module)
    if listed is None or not isinstance(listed[0], ast.Dict):
        return
    for key, one in zip(listed[0].keys, listed[0].values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            text = f"{name}[{key.value!r}]"
            block = spec_block(one, listed[1], resolver)
            if block is not None:
                yield text, block
            else:
                yield from _entries(text, one, listed[1], resolver)


def _with_ranks(given: list[Given], ranks: list[int | None]) -> list[Given]:
    """The blocks of parameters, of which it may be known how many dimensions the arrays have that are passed."""
    each = zip_longest(given, ranks[: len(given)])
    return [one if rank is None else one._replace(block=_of_rank(one.block, rank)) for one, rank in each]


def _of_rank(block: Block | None, rank: int) -> Block | None:
    more = rank - len(block.dims) if block is not None else -1
    return Block((*block.dims, *(WHOLE,) * more), True) if block is not None and more >= 0 else block


def _passed_ranks(facts: Facts) -> dict[ast.expr, list[int | None]]:
    """The dimensions of the arrays that shard_maps are called with, by the map, where all calls of one agree."""
    ranks: dict[ast.expr, list[list[int | None]]] = {}
    for one in facts.shard_calls:
        if not any(isinstance(given, ast.Starred) for given in one.call.args):
            own = [rank_of(_array(given, one.module, facts.resolver)) for given in one.call.args]
            ranks.setdefault(one.made.node, []).append(own)
    return {node: [*_agreed(calls)] for node, calls in ranks.items()}


def _agreed(calls: list[list[int | None]]) -> Iterator[int | None]:
    for number in range(min(map(len, calls))):
        column = {one[number] for one in calls}
        yield column.pop() if len(column) == 1 else None


def _array(node: ast.expr, module: Module, resolver: Resolver) -> Block | None:
    """What is known of an array where a program makes it, or is given it."""
    return Evaluator(module.table.function_of(node), module, resolver).block(node)


def array_rank(given: Argument, resolver: Resolver) -> int | None:
    """How many dimensions an array has that something is given."""
    node = given.expression
    return None if node is None else rank_of(_array(node, given.module, resolver))
