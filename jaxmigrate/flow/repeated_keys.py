"""Random keys that are put on the axis of devices again and again: `replicate(rng)`, `stack([key] * n_devices)`.

In a program where nothing tells devices apart later, all of them draw the same numbers, wherever the key goes: also as
a field of a state, or to a function that is not in sight.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layout.idioms import BROADCASTS, REPLICATES, STACKS, TILES
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name

REPEATING = frozenset(name.rpartition(".")[2] for name in (*REPLICATES, *BROADCASTS, *STACKS, *TILES))
KEY = re.compile(r"(^|_)(key|rng|prng)s?(_|$)")
ONE_FOR_ALL = re.compile("init|param|shared|common|same|global|test|eval")
DEVICES = re.compile(r"device|n_dev|num_dev|replica|world_size|shards")
TELLS_APART = re.compile(r"axis_index|fold_in\([^()]*(device|replica|shard)")
INITIALISES = re.compile("init|create|setup|sync|restore|build")


def keys_repeated(facts: Facts) -> Iterator[tuple[Module, ast.Call]]:
    """The calls that repeat a key for all devices, in programs that map over devices."""
    if not facts.all_maps:
        return
    candidates = [
        (module, call, key)
        for module, call in facts.calls(*sorted(REPEATING))
        if not module.is_test and call.args and (key := _key(call.args[0])) is not None
    ]
    if not candidates or any(TELLS_APART.search(module.text) for module in facts.resolver.project.program):
        return
    steps = (found for found in facts.all_maps if not isinstance(found.function.node, ast.Lambda))
    mapped = {call for found in steps for call, _ in facts.calls_of(found)}
    for module, call, key in candidates:
        if not _is_own(key, call, module, mapped) or not facts.repeats_one(call, module):
            continue
        if last_name(call.func).find("replicate") >= 0 or DEVICES.search(ast.unparse(call)):
            yield module, call


def _key(node: ast.expr) -> str | None:
    """The name of the key that is repeated, if it is one by that."""
    match node:
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult()) | ast.ListComp(elt=one) | ast.Subscript(value=one):
            return _key(one)
        case ast.Call(func=function, args=[one, *_]) if last_name(function) in ("next", "expand_dims"):
            return _key(one)
        case ast.Name() | ast.Attribute():
            name = last_name(node)
            return name if KEY.search(name.lower()) and not ONE_FOR_ALL.search(name.lower()) else None
    return None


def _is_own(key: str, call: ast.Call, module: Module, mapped: Collection[ast.Call]) -> bool:
    """Whether devices are to draw their own numbers by it: not where parameters are initialised."""
    parents = module.table.parents
    names = {key}
    node: ast.AST = call
    while node in parents and not isinstance(node, ast.stmt):
        node = parents[node]
        if isinstance(node, ast.Call) and INITIALISES.search(last_name(node.func).lower()):
            return False
        if isinstance(node, ast.keyword) and node.arg is not None:
            names.add(node.arg)
    if isinstance(node, ast.Assign):
        names |= {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    if any(ONE_FOR_ALL.search(name.lower()) for name in names):
        return False
    held = names - {key} or names  # the repeated ones; by the key itself anything may be made
    uses = [one for name in held for one in module.table.named.get(name, ())]
    return not any(_is_read_elsewhere(one, module, mapped) for one in uses)


def _is_read_elsewhere(name: ast.AST, module: Module, mapped: Collection[ast.Call]) -> bool:
    """Whether a key is given to a map in sight, which is read for what it draws, or to what initialises something."""
    parents = module.table.parents
    node = name
    while node in parents and not isinstance(node, ast.stmt):
        above = parents[node]
        given = isinstance(above, ast.Call) and node is not above.func
        if isinstance(above, ast.Call) and given and INITIALISES.search(last_name(above.func).lower()):
            return True
        if given and above in mapped and node is name:
            return True
        node = above
    return False
