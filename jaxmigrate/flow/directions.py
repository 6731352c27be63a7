"""Exchanges with neighbours whose names say opposite directions, or one, and whose permutations say something else."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument, axis_argument
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

PERMUTED = {name: int(position) for name, position in valued("perm").items()}
WAYS = ("fwd bwd", "forward backward", "forwards backwards", "next prev", "next previous", "right left", "up down")
PLACES = ("upper lower", "high low", "top bottom", "east west", "north south")
OPPOSITE = {(a, b) for pair in (*WAYS, *PLACES) for a, b in (pair.split(), pair.split()[::-1])}
ONWARD = frozenset(pair.split()[0] for pair in WAYS)
SAYING = frozenset({"back", "rev", "reverse", "other"}.union(*OPPOSITE))
ALONG = frozenset(word for pair in WAYS for word in pair.split())
SENDING = re.compile(r"(^|_)send_(to_)?(?P<way>forward|fwd|next|right|backward|bwd|back|prev|previous|left)(_|$)")
WORDS = re.compile(r"[a-z]+")
MOVES = re.compile(r"perm|shift|send|recv|receive|halo|exchange|rotate|ghost|neighbou?r")
ORIGINS = re.compile(r"from|recv|receive|halo|ghost|neighbou?r")
LEAST = 3  # exchanges of one function of which one goes another way than all others


class Sent(NamedTuple):
    """A permutation, where it goes to in the order of the devices, and the names that it has to do with."""

    module: Module
    call: ast.Call
    axis: str
    perm: str
    onward: bool
    names: tuple[tuple[str, ast.AST | None], ...]


def misdirected(facts: Facts) -> Iterator[tuple[Module, ast.Call, ast.Call]]:
    """Permutations that go another way than is meant, each with one beside it that says so, or itself."""
    by_module: dict[Module, list[Sent]] = defaultdict(list)
    for module, call in facts.calls(*(name.rpartition(".")[2] for name in PERMUTED)):
        sent = _sent(call, module, facts)
        if sent is not None:
            by_module[module].append(sent)
    for module, each in by_module.items():
        for one, other in combinations(each, 2):
            if one.axis == other.axis and one.perm == other.perm and (words := _opposites(one, other)):
                wrong, beside = (one, other) if _is_wrong(one, words) else (other, one)
                yield module, wrong.call, beside.call
        yield from _odd_ones(each)
        yield from _sent_elsewhere(each)


def _sent_elsewhere(each: list[Sent]) -> Iterator[tuple[Module, ast.Call, ast.Call]]:
    """What a function sends that is called by the way in which it sends, and sends the other way: `send_forward`."""
    for one in each:
        for name, home in one.names:
            said = SENDING.search(name) if home is None else None
            if said is not None and (said["way"] in ONWARD) != one.onward:
                yield one.module, one.call, one.call


def _sent(call: ast.Call, module: Module, facts: Facts) -> Sent | None:
    callee = facts.resolver.value(call.func, module)
    if not isinstance(callee, External) or callee.name not in PERMUTED or not call.args:
        return None
    arguments = tuple(call_arguments(call, module))
    given, axis = argument(arguments, PERMUTED[callee.name], "perm"), axis_argument(callee.name, arguments)
    if given is None or given.expression is None or axis is None:
        return None
    made = facts.resolver.assigned(given.expression, module)
    onward = _goes_onward(made)
    if onward is None or not isinstance(made, ast.ListComp):
        return None
    function, statement = module.table.function_of(call), module.table.statement_of(call)
    names: list[tuple[str, ast.AST | None]] = [(_name(call.args[0]), function)]
    if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
        names.append((_name(statement.targets[0]), function))
    own = getattr(function, "name", "")
    if MOVES.search(own):
        names.append((own, None))
    return Sent(module, call, ast.unparse(axis), _plain(made), onward, tuple(names))


def _name(node: ast.expr) -> str:
    return last_name(node).lower() if isinstance(node, ast.Name | ast.Attribute) else ""


def _plain(made: ast.ListComp) -> str:
    """The text of a permutation, whatever its variable is called."""
    target = made.generators[0].target
    text = ast.unparse(made)
    return re.sub(rf"\b{target.id}\b", "_", text) if isinstance(target, ast.Name) else text


def _goes_onward(made: ast.expr) -> bool | None:
    """Whether `[(i, (i + 1) % n) for i in range(n)]` sends to devices further on; None where that is not known."""
    pair = made.elt if isinstance(made, ast.ListComp) else None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return None
    steps = [_step(one) for one in pair.elts]
    if None in steps or steps[0] == steps[1] or 0 not in steps:
        return None
    return (steps[1] or 0) > (steps[0] or 0)


def _step(node: ast.expr) -> int | None:
    """How far `i`, `i + 1` or `(i - 1) % n` is from `i`; `(i + n - 1) % n` goes back."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        node = node.left
    match node:
        case ast.Name():
            return 0
        case ast.BinOp(left=ast.Name(), op=ast.Add(), right=ast.Constant(value=1)):
            return 1
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Add(), right=ast.Name()):
            return 1
        case ast.BinOp(left=ast.Name() | ast.BinOp(op=ast.Add()), op=ast.Sub(), right=ast.Constant(value=1)):
            return -1
        case ast.BinOp(left=ast.BinOp(op=ast.Sub(), right=ast.Constant(value=1)), op=ast.Add()):
            return -1
    return None


def _opposites(one: Sent, other: Sent) -> tuple[str, str] | None:
    """The words in which two names differ, if these are of opposite directions; of one function, or two functions'."""
    for name, home in one.names:
        for second, beside in other.names:
            if home is not beside or not name or name == second:
                continue
            parts, others = WORDS.findall(name), WORDS.findall(second)
            unlike = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
            if len(parts) != len(others) or len(unlike) != 1 or unlike[0] not in OPPOSITE:
                continue
            if unlike[0][0] in ALONG or MOVES.search(name):
                return unlike[0]
    return None


def _is_wrong(sent: Sent, words: tuple[str, str]) -> bool:
    """Whether a permutation goes the other way than its word says; of places it is not known which of two is wrong.

    What comes from the left has gone to the right.
    """
    named = [name for name, _ in sent.names if words[0] in WORDS.findall(name)]
    comes = any(ORIGINS.search(name) for name in named)
    return words[0] in ALONG and (sent.onward != (words[0] in ONWARD)) != comes


def _odd_ones(each: list[Sent]) -> Iterator[tuple[Module, ast.Call, ast.Call]]:
    """Of several values that go round together, that which goes the other way round."""
    groups: dict[tuple[ast.AST | None, str], list[Sent]] = defaultdict(list)
    for one in each:
        groups[one.module.table.function_of(one.call), one.axis].append(one)
    for (function, _), same in groups.items():
        words = {word for one in same for name, _ in one.names for word in WORDS.findall(name)}
        if function is None or len(same) < LEAST or not words.isdisjoint(SAYING):
            continue
        for way in (True, False):
            odd, others = [one for one in same if one.onward is way], [one for one in same if one.onward is not way]
            if len(odd) == 1 and len({one.perm for one in others}) == 1:
                yield odd[0].module, odd[0].call, others[0].call
