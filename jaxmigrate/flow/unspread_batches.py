"""Batches that a pmap is given as a loader gives them, where others of that loader are divided over the devices first.

`p_train(state, shard(batch))` in one loop, and `p_eval(state, batch)` in the next.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.flow.readings import unmapped
from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External, Function

DEEPEST = 9
DIVIDES = re.compile(
    r"shard|reshape|rearrange|split|device|prefetch|distribut|replicat|pmap|stack|broadcast|n_dev|leading|expand_dims|\[None"
)
SPLITS = re.compile("train(ing)?|eval(uation)?|valid(ation)?|val|test|dev")
REPLICA = re.compile("(^|_)(repl|replicated|replica)(_|$)")
PUTS = frozenset({"device_put", "asarray", "array", "freeze", "unfreeze"})
PASSES_ON = frozenset({"enumerate", "tqdm", "iter", "islice", "cycle", "trange", "track", "zip"})
OWN = frozenset({"astype", "transpose", "swapaxes", "copy"})  # methods that keep what is of all devices together


class Unspread(NamedTuple):
    """A batch without an axis of devices, and the call that gives another of the same loader one."""

    module: Module
    node: ast.expr
    divided: ast.expr
    by: str


class _Way(NamedTuple):
    """How an argument comes from a loader: what makes that, and the call that divides its batches, if one does."""

    loader: str
    node: ast.expr
    divided: ast.Call | None


def unspread(facts: Facts) -> Iterator[Unspread]:
    """Arguments of pmaps that come undivided from a loader of which other batches are divided."""
    ways: dict[Module, dict[ast.expr, _Way]] = {}
    for found in (*facts.all_maps, *facts.opaque_pmaps):
        whole = unmapped(found, facts.resolver) if found.name in PMAPS else None
        if whole is None:
            continue
        for given, module, number in facts.given_to(found):
            if number not in whole and not module.is_test and given not in ways.get(module, ()):
                way = _way(given, module, facts, None, 0)
                if way is not None:
                    ways.setdefault(module, {})[given] = way._replace(node=given)
    for module, each in ways.items():
        divided = {one.loader: one.divided for one in each.values() if one.divided is not None}
        for node, one in each.items():
            other = divided.get(one.loader) if one.divided is None else None
            if other is not None:
                yield Unspread(module, node, other, ast.unparse(other.func))


def called_replicas(facts: Facts) -> Iterator[Unspread]:
    """Arguments of pmaps that have the name of a replica, as others here, and are another name of what is none."""
    told: set[ast.AST] = set()
    for found in (*facts.all_maps, *facts.opaque_pmaps):
        whole = unmapped(found, facts.resolver) if found.name in PMAPS else None
        if whole is None:
            continue
        for given, module, number in facts.given_to(found):
            if number in whole or not isinstance(given, ast.Name) or not REPLICA.search(given.id):
                continue
            meant = [b for b in facts.resolver.bindings(given.id, module.table.scope_of[given]) if b.value is not None]
            meant = [b for b in meant if not (isinstance(b.value, ast.Call) and _passes(b.value, given.id))]
            other = _replicated(given, module, facts) if meant else None
            if other is None or not all(b.kind == "assign" and _is_plain(b) for b in meant):
                continue
            if meant[0].node not in told and meant[0].value is not None:
                told.add(meant[0].node)
                yield Unspread(module, meant[0].value, other, ast.unparse(other.func))


def _passes(call: ast.Call, name: str) -> bool:
    """Whether a call is given what a name holds: a step, which gives it back."""
    given = (*call.args, *(k.value for k in call.keywords))
    return any(isinstance(one, ast.Name) and one.id == name for one in given)


def _is_plain(binding: Binding) -> bool:
    """Whether a name is bound to what has no name of a replica: as it is, or put on one device."""
    value = binding.value
    if isinstance(value, ast.Call) and last_name(value.func) in PUTS and len(value.args) == 1 and not value.keywords:
        value = value.args[0]
    return isinstance(value, ast.Name) and not binding.path and not REPLICA.search(value.id)


def _replicated(name: ast.Name, module: Module, facts: Facts) -> ast.Call | None:
    """Where a name of the same kind is bound to a replica."""
    kind = REPLICA.search(name.id)
    for call in module.table.calls:
        statement = module.table.parents.get(call)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        alike = isinstance(target, ast.Name) and target.id != name.id and REPLICA.search(target.id)
        if alike and kind is not None and alike.group() == kind.group():
            callee = facts.resolver.value(call.func, module)
            if isinstance(callee, External) and callee.name in REPLICATES:
                return call
    return None


def _way(node: ast.expr, module: Module, facts: Facts, divided: ast.Call | None, depth: int) -> _Way | None:
    """The way of a batch from its loader; None where it is not seen, or where something on it may divide it unseen."""
    if depth > DEEPEST:
        return None
    match node:
        case ast.Name():
            return _of_name(node, module, facts, divided, depth)
        case ast.Call(func=ast.Name(id="next"), args=[source, *_]):
            loader = _loader(source, module, facts, 0)
            return _Way(loader, node, divided) if loader else None
        case ast.Subscript(value=owner, slice=index) if _is_rest(index):
            return _way(owner, module, facts, divided, depth + 1)
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if _is_of_array(node, module, facts):
            if divided is None and method not in OWN:
                return None
            return _way(owner, module, facts, divided, depth + 1)
        case ast.Call(args=[*given]) if given:
            own = divided
            if DIVIDES.search(last_name(node.func).lower()):
                own = node
            elif divided is None and _may_divide(node, module, facts):
                return None
            ways = [_way(one, module, facts, own, depth + 1) for one in given if isinstance(one, ast.Name | ast.Call)]
            known = [one for one in ways if one is not None]
            return known[0] if len(known) == 1 else None
    return None


def _of_name(name: ast.Name, module: Module, facts: Facts, divided: ast.Call | None, depth: int) -> _Way | None:
    """The way of what a name holds: the variable of a loop over a loader, or what it is assigned."""
    binding = nearest(name, module)
    if binding is None:
        return None
    loop = _loop_of(binding.node, module)
    if loop is not None:
        iterated = _iterated(loop.target, loop.iter, binding.node)
        loader = _loader(iterated, module, facts, 0) if iterated is not None else ""
        return _Way(loader, name, divided) if loader else None
    if binding.kind != "assign" or binding.value is None or binding.path:
        return None
    return _way(binding.value, module, facts, divided, depth + 1)


def _is_of_array(call: ast.Call, module: Module, facts: Facts) -> bool:
    """Whether what is called is a method of a batch, that keeps or divides it, and no function of a module."""
    method = last_name(call.func)
    known = isinstance(facts.resolver.value(call.func, module), External | Function)
    return not known and (method in OWN or DIVIDES.search(method) is not None)


def _is_rest(index: ast.expr) -> bool:
    """Whether a subscript leaves the first dimension as it is: `x[:, :n]`, `x["tokens"]`."""
    if isinstance(index, ast.Constant):
        return isinstance(index.value, str)
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else None
    return isinstance(first, ast.Slice) and first.lower is None and first.upper is None


def _loop_of(target: ast.AST, module: Module) -> ast.For | None:
    """The loop whose variable something is."""
    above = module.table.parents.get(target)
    while isinstance(above, ast.Tuple):
        target, above = above, module.table.parents.get(above)
    return above if isinstance(above, ast.For) and above.target is target else None


def _iterated(target: ast.expr, each: ast.expr, node: ast.AST) -> ast.expr | None:
    """What a variable of a loop is an element of: of `for n, (x, y) in enumerate(zip(a, b))` y is one of `b`."""
    if not isinstance(target, ast.Tuple) or not isinstance(each, ast.Call) or not isinstance(each.func, ast.Name):
        return each
    number = next((n for n, one in enumerate(target.elts) if node in ast.walk(one)), -1)
    match each.func.id, each.args:
        case "zip", args:
            plain = not any(isinstance(one, ast.Starred) for one in args)
            return _iterated(target.elts[number], args[number], node) if plain and 0 <= number < len(args) else None
        case "enumerate", [inner, *_]:
            return _iterated(target.elts[1], inner, node) if number == 1 else None
    return each


def _may_divide(call: ast.Call, module: Module, facts: Facts) -> bool:
    """Whether a function that a batch goes through may divide it: by its text, or its arguments."""
    if any(DIVIDES.search(ast.unparse(one).lower()) for one in (*call.args, *call.keywords)):
        return True
    values = facts.resolver.values(call.func, module)
    functions = [one for one in values if isinstance(one, Function)]
    texts = (ast.unparse(one.node) for one in functions)
    return len(functions) != len(values) or not functions or any(DIVIDES.search(text.lower()) for text in texts)


def _loader(node: ast.expr, module: Module, facts: Facts, depth: int) -> str:
    """What makes a loader, by its name; empty where that is not seen, or where it may divide what it gives."""
    if depth > DEEPEST:
        return ""
    match node:
        case ast.Name():
            held = facts.resolver.assigned(node, module)
            return _loader(held, module, facts, depth + 1) if held is not node else _parameter(node, module, facts)
        case ast.Call(args=[first, *_]) if last_name(node.func) in PASSES_ON:
            return _loader(first, module, facts, depth + 1)
        case ast.Call(func=ast.Name(id="range")):
            return ""
        case ast.Call():
            text = ast.unparse(node).lower()
            return "" if DIVIDES.search(text) else last_name(node.func)
    return ""


def _parameter(node: ast.Name, module: Module, facts: Facts) -> str:
    """A mark for loaders that a function is given under names that tell them apart by their split alone."""
    bindings = facts.resolver.bindings_at(node, module)
    if len(bindings) == 1 and bindings[0].kind == "param" and SPLITS.search(node.id.lower()):
        return SPLITS.sub("", node.id.lower()) or "loader"
    return ""
