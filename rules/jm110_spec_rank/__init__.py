"""JM110: a PartitionSpec is for more dimensions than its array has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.blocks import WHOLE, Block, Evaluator, leaves, rank_of, spec_block
from jaxmigrate.flow.counts import entries
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jits import Jitted, sharded_jits, spec_in
from jaxmigrate.flow.mapped_blocks import Given, array_rank, bodies
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.values import External, Function
from jaxmigrate.terminal import plural

CODE = "JM110"
SHARDED = {name: int(position) for name, position in valued("shards").items()}
FROM_CALLBACK = "jax.make_array_from_callback"
KEY_TYPES = re.compile("PRNGKey|KeyArray")
FLAT_KEYS = re.compile(r"split\([^\n]*\)\.(flatten|ravel|reshape)\(")  # of which a block is one key again
KEYED = "jax.random."
MAKES_KEYS = frozenset({"jax.random.PRNGKey", "jax.random.key", "jax.random.wrap_key_data", "jax.random.key_data"})


def check(facts: Facts) -> Iterator[Finding]:
    """Specs of shard_maps, of placements and of constraints that name more dimensions than their arrays have."""
    told: set[ast.expr] = set()
    for found, given, ranks, body in bodies(facts):
        for finding, spec in (*_of_arguments(found, given, ranks, facts), *_of_results(found, body, facts)):
            if spec not in told:
                told.add(spec)
                yield finding
        yield from _of_keys(found, given, facts)
    yield from _of_placements(facts)
    for jitted in sharded_jits(facts):
        for finding, spec in (*_of_jit_arguments(jitted, facts), *_of_jit_results(jitted, facts)):
            if spec not in told:
                told.add(spec)
                yield finding


def _of_arguments(
    found: DeviceMap, given: list[Given], passed: list[int | None], facts: Facts
) -> Iterator[tuple[Finding, ast.expr]]:
    function = found.function
    own = Evaluator(function.node, function.module, facts.resolver)
    for number, one in enumerate(given):
        names = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == one.name]
        ranks = {rank_of(own.of_parameter(name)) for name in names} - {None}
        ranks |= {passed[number]} - {None} if number < len(passed) else set()
        least = min((rank for rank in ranks if rank is not None), default=None)
        if least is not None and len(ranks) == 1:
            yield from _of_map(one.block, least, one.spec, one.module, f"in_specs: {one.name}", facts)


def _of_results(found: DeviceMap, body: Evaluator, facts: Facts) -> Iterator[tuple[Finding, ast.expr]]:
    given = found.keyword("out_specs", 3)
    if given is None or given.expression is None:
        return
    returned = returned_by(found.function.node)
    listed = facts.resolver.container(given.expression, given.module)
    if listed is None:
        ranks = {rank_of(body.block(one)) if one is not None else None for one in returned}
        rank = ranks.pop() if len(ranks) == 1 else None
        if rank is not None:
            block = spec_block(given.expression, given.module, facts.resolver)
            yield from _of_map(block, rank, given.expression, given.module, "out_specs: the result", facts)
        return
    display, home = listed
    one = returned[0] if len(returned) == 1 else None
    if isinstance(display, ast.Dict) or not isinstance(one, ast.Tuple) or len(one.elts) != len(display.elts):
        return
    for number, (element, spec) in enumerate(zip(one.elts, display.elts, strict=True)):
        rank = rank_of(body.block(element))
        if rank is not None:
            block = spec_block(spec, home, facts.resolver)
            yield from _of_map(block, rank, spec, home, f"out_specs: result {number}", facts)


def _of_map(
    block: Block | None, rank: int, spec: ast.expr, module: Module, what: str, facts: Facts
) -> Iterator[tuple[Finding, ast.expr]]:
    """The same of a shard_map, which before 0.6 does without what a spec has too many, where that splits nothing."""
    if block is None or facts.resolver.project.era != "old" or any(axes != WHOLE for axes in block.dims[rank:]):
        yield from _too_long(block, rank, spec, module, what, facts)


def _too_long(
    block: Block | None, rank: int, spec: ast.expr, module: Module, what: str, facts: Facts
) -> Iterator[tuple[Finding, ast.expr]]:
    if block is None or len(block.dims) <= rank:
        return
    has = f"has {plural(rank, 'dimension')}" if rank else "is a single number"
    write = "write P()" if not rank else f"write a spec of {rank} or fewer"
    message = f"{what} {has}, but its spec is for {len(block.dims)}; {write}"
    for finding in facts.finding(module, spec, CODE, message):
        yield finding, spec


def _of_keys(found: DeviceMap, given: list[Given], facts: Facts) -> Iterator[Finding]:
    """Keys that are split among the devices, whose block is an array of keys and is used as if it were one."""
    function = found.function
    own = Evaluator(function.node, function.module, facts.resolver)
    for one in given:
        if one.block is None or not one.block.dims or not one.block.dims[0]:
            continue
        for first, callee in _used_as_key(one.name, function, own, facts):
            if any(map(FLAT_KEYS.search, texts_beside(found.application.module, facts.resolver))):
                return
            message = (
                f"{one.name} is split over {shown(one.block.dims[0])}, so that this device's block is an array of "
                f"keys, and {callee.name.rpartition('.')[2]} takes one; write {one.name}[0]"
            )
            yield from facts.finding(function.module, first, CODE, message)
            break


def _used_as_key(name: str, function: Function, own: Evaluator, facts: Facts) -> Iterator[tuple[ast.Name, External]]:
    """Where a function of `jax.random` takes a parameter for one key."""
    for call in ast.walk(function.node):
        first = call.args[0] if isinstance(call, ast.Call) and call.args else None
        if not isinstance(call, ast.Call) or not isinstance(first, ast.Name) or first.id != name:
            continue
        callee = facts.resolver.value(call.func, function.module)
        drawing = isinstance(callee, External) and callee.name.startswith(KEYED) and callee.name not in MAKES_KEYS
        if isinstance(callee, External) and drawing and own.is_parameter(first):
            yield first, callee


def _of_jit_arguments(found: Jitted, facts: Facts) -> Iterator[tuple[Finding, ast.expr]]:
    """What jit takes: arrays with more dimensions than are named, and single keys, which have none to split."""
    names, given = found.parameters(facts.resolver), found.keyword("in_shardings")
    listed = (
        None if given is None or given.expression is None else facts.resolver.container(given.expression, given.module)
    )
    if names is None or listed is None or isinstance(listed[0], ast.Dict):
        return
    function, home = found.function, listed[1]
    own = Evaluator(function.node, function.module, facts.resolver)
    for name, sharding in zip(names, listed[0].elts, strict=False):
        if isinstance(sharding, ast.Starred):
            return
        block = spec_block(*spec_in(sharding, home, facts.resolver), facts.resolver)
        read = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name]
        ranks = {rank_of(own.of_parameter(one)) for one in read} - {None}
        rank = next(iter(ranks)) if len(ranks) == 1 else None
        if rank is not None:
            yield from _too_long(block, rank, sharding, home, f"in_shardings: {name}", facts)
        elif block is not None and block.dims and block.dims[0] and _is_key(name, found, own, facts):
            message = f"in_shardings: {name} is one key, which cannot be split over {shown(block.dims[0])}; write P()"
            yield from ((finding, sharding) for finding in facts.finding(home, sharding, CODE, message))


def _is_key(name: str, found: Jitted, own: Evaluator, facts: Facts) -> bool:
    """Whether a parameter is one random key, by its annotation or by what it is given to."""
    function = found.function
    annotation = next((one.annotation for one in all_parameters(function.node.args) if one.arg == name), None)
    if annotation is not None:
        return KEY_TYPES.search(ast.unparse(annotation)) is not None
    return any(True for _ in _used_as_key(name, function, own, facts))


def _of_jit_results(found: Jitted, facts: Facts) -> Iterator[tuple[Finding, ast.expr]]:
    """What jit gives back: losses and other single numbers, alone or in dictionaries, that are to be split."""
    given, returned = found.keyword("out_shardings"), returned_by(found.function.node)
    one = returned[0] if len(returned) == 1 else None
    if given is None or given.expression is None or one is None:
        return
    listed = facts.resolver.container(given.expression, given.module)
    if listed is None:
        pairs, home = [(one, given.expression)], given.module
    elif isinstance(listed[0], ast.Dict) or not isinstance(one, ast.Tuple) or len(one.elts) != len(listed[0].elts):
        return
    else:
        pairs, home = [*zip(one.elts, listed[0].elts, strict=True)], listed[1]
    function = found.function
    own = Evaluator(function.node, function.module, facts.resolver)
    for result, sharding in pairs:
        block = spec_block(*spec_in(sharding, home, facts.resolver), facts.resolver)
        for leaf in leaves(result, function.node, function.module) if block is not None and block.dims else ():
            rank = rank_of(own.block(leaf))
            if rank is not None:
                what = f"out_shardings: {ast.unparse(leaf) if isinstance(leaf, ast.Name) else 'a result'}"
                yield from _too_long(block, rank, sharding, home, what, facts)


def _of_placements(facts: Facts) -> Iterator[Finding]:
    """`device_put(x, NamedSharding(mesh, spec))`, constraints, and arrays made from a callback."""
    names = {name.rpartition(".")[2] for name in (*SHARDED, FROM_CALLBACK)}
    for module, call in facts.calls(*sorted(names)):
        callee = facts.resolver.value(call.func, module)
        if not isinstance(callee, External) or callee.name not in (*SHARDED, FROM_CALLBACK):
            continue
        arguments = call_arguments(call, module)
        spec = argument(arguments, SHARDED.get(callee.name, 1), "shardings", "out_shardings", "device", "sharding")
        array = argument(arguments, 0, "x", "shape")
        if spec is None or array is None or spec.expression is None or array.expression is None:
            continue
        if callee.name == FROM_CALLBACK:
            rank = entries(array.expression, module, facts.resolver)
        else:
            rank = array_rank(array, facts.resolver)
        node, home = spec_in(spec.expression, module, facts.resolver)
        if rank is not None:
            what = f"{callee.name.rpartition('.')[2]}: the array"
            found = _too_long(spec_block(node, home, facts.resolver), rank, spec.expression, module, what, facts)
            yield from (finding for finding, _ in found)
