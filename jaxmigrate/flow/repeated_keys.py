"""Random keys that are put on the axis of devices again and again: `replicate(rng)`, `stack([key] * n_devices)`.

In a program where nothing tells devices apart later, all of them draw the same numbers, wherever the key goes: also as
a field of a state, or to a function that is not in sight.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layout.kinds import BROADCASTS, REPLICATES, STACKS, TILES
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.program.modules import Module
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.syntax import last_name

MAKING = frozenset({"PRNGKey", "fold_in"})
UNNAMED = ""  # a key that is repeated where it is made
REPEATING = frozenset(name.rpartition(".")[2] for name in (*REPLICATES, *BROADCASTS, *STACKS, *TILES))
KEY = re.compile(r"(^|_)(key|rng|prng)s?(_|$)")
ONE_FOR_ALL = re.compile("init|param|shared|common|same|global|test|eval")
DEVICES = re.compile(r"device|n_dev|num_dev|replica|world_size|shards")
TELLS_APART = re.compile(r"axis_index|fold_in\([^()]*(device|replica|shard)")
MAKES_DATA = re.compile("data|rollout|generate|collect|simulat|paths?$|traj")
STARTS = re.compile("^_*init")
INITIALISES = re.compile("init|create|setup|sync|restore|build")


def keys_repeated(facts: Facts) -> Iterator[tuple[Module, ast.Call]]:
    """The calls that repeat a key for all devices, in programs that map over devices."""
    if not facts.all_maps and not facts.opaque_pmaps:
        return
    candidates = [
        (module, call, key)
        for module, call in facts.calls(*sorted(REPEATING))
        if not module.is_test and call.args and (key := _key(call.args[0])) is not None
    ]
    if not candidates:
        return
    steps = (found for found in facts.all_maps if not isinstance(found.function.node, ast.Lambda))
    read = (found for found in steps if not _only_splits(found) and not _makes_data(found))
    mapped = {call for found in read for call, _ in facts.calls_of(found)}
    for module, call, key in candidates:
        if any(TELLS_APART.search(text) for text in texts_beside(module, facts.resolver)):
            continue
        given = set() if _is_for_data(call, module) else mapped
        if key == UNNAMED:  # a function out of sight may want one for all
            given = given | {one for found in facts.opaque_pmaps for one, _ in facts.calls_of(found)}
        if not _is_own(key, call, module, given) or not facts.repeats_one(call, module):
            continue
        if last_name(call.func).find("replicate") >= 0 or _is_for_devices(call, module, facts):
            yield module, call


def _is_for_data(call: ast.Call, module: Module) -> bool:
    """Whether a key is repeated in a function that makes examples by its name."""
    name = getattr(module.table.function_of(call), "name", "").lower()
    return MAKES_DATA.search(name) is not None and INITIALISES.search(name) is None


def _makes_data(found: DeviceMap) -> bool:
    """Whether a mapped function makes examples by its name, of which each device is to make others."""
    name = getattr(found.function.node, "name", "").lower()
    return MAKES_DATA.search(name) is not None and INITIALISES.search(name.removeprefix("create_")) is None


def _only_splits(found: DeviceMap) -> bool:
    """Whether a mapped function does nothing but split keys: who draws by them is another."""
    body = found.function.node.body
    returned = body if isinstance(body, ast.expr) else body[-1].value if isinstance(body[-1], ast.Return) else None
    splits = isinstance(returned, ast.Call) and ast.unparse(returned.func) in ("jax.random.split", "random.split")
    return splits and (isinstance(body, ast.expr) or len(body) == 1)


def _is_for_devices(call: ast.Call, module: Module, facts: Facts) -> bool:
    """Whether the number of copies is that of the devices, by a name, or by what the name was assigned."""
    if DEVICES.search(ast.unparse(call)):
        return True
    names = [one for one in ast.walk(call) if isinstance(one, ast.Name)]
    held = (facts.resolver.assigned(one, module) for one in names)
    counts = (one.func for one in held if isinstance(one, ast.Call))
    return any(last_name(one) in ("local_device_count", "device_count") for one in counts)


def _key(node: ast.expr) -> str | None:
    """The name of the key that is repeated, if it is one by that."""
    match node:
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult()) | ast.ListComp(elt=one) | ast.Subscript(value=one):
            return _key(one)
        case ast.Call(func=function, args=[one, *_]) if last_name(function) in ("next", "expand_dims"):
            return _key(one)
        case ast.Call(func=function) if last_name(function) in MAKING:
            return UNNAMED
        case ast.Name() | ast.Attribute():
            name = last_name(node)
            return name if KEY.search(name.lower()) and not ONE_FOR_ALL.search(name.lower()) else None
    return None


def _is_own(key: str, call: ast.Call, module: Module, mapped: Collection[ast.Call]) -> bool:
    """Whether devices are to draw their own numbers by it: not where parameters are initialised."""
    parents = module.table.parents
    names = {key} - {UNNAMED}
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
    if not names:
        return False
    if _is_to_initialise(node, module):
        return False
    held = names - {key} or names  # the repeated ones; by the key itself anything may be made
    within = module.table.function_of(call)
    uses = [one for name in held for one in module.table.named.get(name, ()) if _is_seen(one, within, module)]
    if isinstance(node, ast.Assign) and not any(isinstance(getattr(one, "ctx", None), ast.Load) for one in uses):
        return False  # nothing draws by it
    return not any(_is_read_elsewhere(one, module, mapped) for one in uses)


def _is_to_initialise(node: ast.AST, module: Module) -> bool:
    """Whether a function that initialises by its name repeats a key for calls of its own alone."""
    function = module.table.function_of(node)
    if (
        not isinstance(function, ast.FunctionDef)
        or not STARTS.search(function.name)
        or not isinstance(node, ast.Assign)
    ):
        return False
    target = node.targets[0]
    if not isinstance(target, ast.Name):
        return False
    parents = module.table.parents
    read = [one for one in module.table.named.get(target.id, ()) if isinstance(getattr(one, "ctx", None), ast.Load)]
    return bool(read) and all(isinstance(parents[one], ast.Call) for one in read)


def _is_seen(name: ast.AST, function: ast.AST | None, module: Module) -> bool:
    """Whether a name stands where the variable of a function is seen; an attribute, everywhere."""
    above = module.table.function_of(name) if isinstance(name, ast.Name) else function
    while above is not None and above is not function:
        above = module.table.function_of(module.table.parents[above])
    return above is function


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
