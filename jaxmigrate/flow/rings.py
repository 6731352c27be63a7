"""Loops in which blocks go round a ring of devices by ppermute: how many rounds, and whose block a device then has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Constant, External, Function

PERMUTED = {name: int(position) for name, position in valued("perm").items()}
LAST = frozenset(name.rpartition(".")[2] for name in PERMUTED)
LOOPS = ("jax.lax.fori_loop", "jax.lax.scan")
PAIRED = {"k": "v", "key": "value", "keys": "values", "ks": "vs"}
PAIRED |= {value: key for key, value in PAIRED.items()}
INDEX, SIZE = "jax.lax.axis_index", "jax.lax.axis_size"


class Told(NamedTuple):
    """Something that is wrong in a ring: where it is said, and how."""

    module: Module
    node: ast.expr
    message: str


class Shift(NamedTuple):
    """A permutation that moves all blocks round a ring: how far, and what says how many devices there are."""

    by: int
    size: ast.expr
    module: Module


class Move(NamedTuple):
    """A name that a statement gives to `ppermute`, what it is called then, and the permutation, where it is a ring."""

    target: str
    source: str
    shift: Shift | None
    statement: ast.stmt


class Ring(NamedTuple):
    """A loop in which names are replaced by what other devices have, each by the next one's in a direction.

    `rounds` is how many more, or fewer, than there are devices; None where that is not known. `index` counts from 0.
    """

    module: Module
    loop: ast.For | ast.Call
    body: list[ast.stmt]
    counter: str
    rounds: int | None
    names: dict[str, ast.stmt]
    shift: int


def told(modules: Iterable[Module], resolver: Resolver) -> Iterator[Told]:
    """What is wrong in the rings of a program."""
    for module in modules:
        if any(name in module.text for name in LAST):
            reader = _Reader(module, resolver)
            for ring in reader.rings():
                yield from reader.wrong_sources(ring)
                yield from reader.wrong_rounds(ring)
                yield from reader.left_behind(ring)


class _Reader:
    """Reads the loops of one module."""

    def __init__(self, module: Module, resolver: Resolver) -> None:
        self.module = module
        self.resolver = resolver

    # Loops

    def rings(self) -> Iterator[Ring]:
        """The loops that move blocks in one direction alone, each once in a round."""
        for node in self.module.table.parents:
            match node:
                case ast.For(
                    target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[count]), body=body
                ):
                    yield from self._ring(node, body, index, count)
                case ast.Call() if last_name(node.func) in ("fori_loop", "scan"):
                    yield from self._compiled(node)

    def _compiled(self, call: ast.Call) -> Iterator[Ring]:
        callee = self.resolver.value(call.func, self.module)
        if not isinstance(callee, External) or callee.name not in LOOPS:
            return
        options = {one.arg: one.value for one in call.keywords}
        if callee.name == "jax.lax.fori_loop":
            if len(call.args) != 4 or not _is_zero(call.args[0]):
                return
            function, count = call.args[2], call.args[1]
        else:
            if not call.args or "reverse" in options:
                return
            rows = call.args[2] if len(call.args) > 2 else options.get("xs")
            counted = rows is not None and isinstance(rows, ast.Call) and last_name(rows.func) == "arange"
            function = call.args[0]
            known = options.get("length")
            if known is None and counted and isinstance(rows, ast.Call) and len(rows.args) == 1:
                known = rows.args[0]
            if known is None:
                return
            count = known
        match self.resolver.value(function, self.module):
            case Function(module=home, node=ast.FunctionDef(args=spec, body=body)) if home is self.module:
                place = 0 if callee.name == "jax.lax.fori_loop" else 1
                if len(spec.args) == 2:
                    yield from self._ring(call, body, spec.args[place].arg, count)

    def _ring(self, loop: ast.For | ast.Call, body: list[ast.stmt], index: str, count: ast.expr) -> Iterator[Ring]:
        moves = [one for statement in body for one in self._moves(statement)]
        shifts = [one.shift for one in moves if one.shift is not None]
        if not moves or len(shifts) != len(moves) or len({one.by for one in shifts}) != 1:
            return
        if all(one.target == one.source for one in moves) and len({one.source for one in moves}) == len(moves):
            names = {one.source: one.statement for one in moves}
            yield Ring(self.module, loop, body, index, self._beyond(count, shifts[0]), names, shifts[0].by)

    def _beyond(self, count: ast.expr, shift: Shift) -> int | None:
        """How many more rounds there are than devices."""
        if shift.module is self.module and ast.unparse(count) == ast.unparse(shift.size):
            return 0
        count = self.resolver.assigned(count, self.module) if isinstance(count, ast.Name) else count
        more = 0
        match count:
            case ast.BinOp(left=base, op=ast.Add() | ast.Sub() as sign, right=ast.Constant(value=int() as number)):
                count, more = base, number if isinstance(sign, ast.Add) else -number
        same = shift.module is self.module and ast.unparse(count) == ast.unparse(shift.size)
        sizes = [self._axis_of(count, self.module), self._axis_of(shift.size, shift.module)]
        known = None not in sizes and (sizes[0] == sizes[1] or shift.module is not self.module or "" in sizes)
        return more if same or known else None

    def _axis_of(self, size: ast.expr, module: Module) -> str | None:
        """The axis that an expression asks the size of, empty where a caller gives it; None for anything else."""
        value = self.resolver.value(size, module)
        if not isinstance(value, Application) or not isinstance(value.callee, External) or not value.arguments:
            return None
        first = value.arguments[0].expression
        one = value.callee.name == "jax.lax.psum" and len(value.arguments) == 2 and isinstance(first, ast.Constant)
        if value.callee.name != SIZE and not one:
            return None
        match self.resolver.argument_values(value.arguments[-1]):
            case (Constant(value=str() as axis),):
                return axis
        return ""

    # What moves

    def _moves(self, statement: ast.stmt) -> Iterator[Move]:
        """Each name that a statement of a body moves: what it is called then, and in which direction."""
        direct = isinstance(statement, ast.Assign | ast.Return)
        for call in (n for n in ast.walk(statement) if isinstance(n, ast.Call)):
            known = self._moved(call)
            if known is None:
                continue
            given, shift = known
            pairs = self._called_then(call, given, statement) if direct else []
            if not pairs:
                yield Move("", "?", None, statement)
            for target, source in pairs:
                yield Move(target, source, shift, statement)

    def _moved(self, call: ast.Call) -> tuple[ast.expr, Shift | None] | None:
        """What a call moves, and where to: `ppermute` itself, or a function of the program that does no more."""
        value = self.resolver.value(call.func, self.module)
        if isinstance(value, External) and value.name in PERMUTED and call.args:
            return call.args[0], self._shift(self._permutation(call, value.name), self.module)
        if not isinstance(value, Function) or isinstance(value.node, ast.Lambda) or not call.args:
            return None
        inner = [n for n in ast.walk(value.node) if isinstance(n, ast.Call) and last_name(n.func) in LAST]
        own = [one for one in value.node.body if not isinstance(one, ast.Expr)]
        if not inner:
            return None
        if len(inner) > 1 or not isinstance(own[-1], ast.Return) or len(own) > 3:
            return call.args[0], None
        of = self.resolver.value(inner[0].func, value.module)
        if not isinstance(of, External) or of.name not in PERMUTED:
            return call.args[0], None
        return call.args[0], self._shift(self._permutation(inner[0], of.name), value.module)

    def _permutation(self, call: ast.Call, name: str) -> ast.expr | None:
        position = PERMUTED[name]
        named = [one.value for one in call.keywords if one.arg == "perm"]
        return next(iter([*named, *call.args[position : position + 1]]), None)

    def _shift(self, perm: ast.expr | None, module: Module) -> Shift | None:
        """How far a closed ring of all devices moves a block: 1 to the next, -1 to the one before."""
        made = self.resolver.assigned(perm, module) if perm is not None else None
        match made:
            case ast.ListComp(
                elt=ast.Tuple(elts=[source, target]),
                generators=[
                    ast.comprehension(
                        target=ast.Name(id=own), iter=ast.Call(func=ast.Name(id="range"), args=[size]), ifs=[]
                    )
                ],
            ):
                ends = [_offset(one, own, ast.unparse(size)) for one in (source, target)]
                if ends[0] == 0 and ends[1] in (1, -1):
                    return Shift(ends[1], size, module)
                if ends[1] == 0 and ends[0] in (1, -1):
                    return Shift(-ends[0], size, module)
        return None

    def _called_then(self, call: ast.Call, given: ast.expr, statement: ast.stmt) -> list[tuple[str, str]]:
        """The names of what is moved, after and before, where a statement calls it something or gives it back."""
        sources = [one.id if isinstance(one, ast.Name) else "" for one in _elements(given)]
        if isinstance(statement, ast.Return):
            return [(source, source) for source in sources if source]
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        value = statement.value if isinstance(statement, ast.Assign) else None
        if value is not call:
            return []
        targets = [one.id if isinstance(one, ast.Name) else "" for one in _elements(target)] if target else []
        return list(zip(targets, sources, strict=True)) if len(targets) == len(sources) and all(sources) else []

    # What is wrong

    def wrong_sources(self, ring: Ring) -> Iterator[Told]:
        """Whose block a device has, counted in the direction in which blocks move, not from where they come."""
        found = [one for statement in ring.body for one in self._owners(statement, ring.counter)]
        if not found or any(sign != ring.shift for _, sign in found):
            return
        right, wrong = ("-", "+") if ring.shift == 1 else ("+", "-")
        after = "before" if ring.shift == 1 else "behind"
        for node, _ in found[:1]:
            message = (
                f"blocks come from the device {after}: after i rounds a device has that of axis_index {right} i, not "
                f"{wrong} i; change the sign here, or turn the permutation round"
            )
            yield Told(self.module, node, message)

    def _owners(self, statement: ast.stmt, index: str) -> Iterator[tuple[ast.expr, int]]:
        """Expressions such as `(me + i) % n`, and the sign of the round in them."""
        for node in ast.walk(statement):
            match node:
                case ast.BinOp(left=left, op=ast.Mod()):
                    whole: ast.expr = node
                case ast.Call(args=[left, _]) if last_name(node.func) in ("mod", "rem", "remainder"):
                    whole = node
                case _:
                    continue
            terms = list(_terms(left, 1))
            rounds = [sign for term, sign in terms if isinstance(term, ast.Name) and term.id == index]
            own = [sign for term, sign in terms if self._is_index(term)]
            if len(rounds) == 1 and own == [1]:
                yield whole, rounds[0]

    def _is_index(self, node: ast.expr) -> bool:
        value = self.resolver.value(node, self.module) if isinstance(node, ast.Name | ast.Call) else None
        return isinstance(value, Application) and value.callee == External(INDEX)

    def wrong_rounds(self, ring: Ring) -> Iterator[Told]:
        """A round too many, which adds a device's own block twice, or one too few, so that a block is never used."""
        if ring.rounds not in (0, -1):
            return
        place = ring.loop if isinstance(ring.loop, ast.Call) else ring.loop.iter
        for name, statement in ring.names.items():
            before, after = self._uses(ring, name, statement)
            if before and not after and ring.rounds == -1 and self._is_dropped(ring, name):
                message = (
                    f"the last {name} to arrive is never used: with one round fewer than devices, use it once more "
                    "after the loop, or go round as often as there are devices"
                )
                yield Told(self.module, place, message)
                return
            total = self._total(ring, name) if after and not before and ring.rounds == 0 else None
            if total is not None:
                message = (
                    f"each device's own block is added twice: {total} starts with it, and as many rounds as devices "
                    "bring it back; go round once less, or start from zeros"
                )
                yield Told(self.module, place, message)
                return

    def left_behind(self, ring: Ring) -> Iterator[Told]:
        """Of keys and values, which belong together, one that stays where it is while the other goes round."""
        nodes = [n for one in ring.body for n in ast.walk(one) if isinstance(n, ast.Name)]
        carried = {id(n) for one in ring.body if _unpacks(one) for n in ast.walk(one)}
        changed = {n.id for n in nodes if isinstance(n.ctx, ast.Store) and id(n) not in carried}
        read = {n.id for n in nodes if isinstance(n.ctx, ast.Load)}
        for name, statement in ring.names.items():
            for other in _belonging(name) & read - changed - ring.names.keys():
                place = next((n for n in ast.walk(statement) if self._is_move(n)), None)
                if isinstance(place, ast.Call):
                    message = (
                        f"{name} goes round the devices, and {other} stays: from the second round on each device has "
                        f"another's {name} beside its own {other}; move both"
                    )
                    yield Told(self.module, place, message)

    def _uses(self, ring: Ring, name: str, statement: ast.stmt) -> tuple[list[ast.Name], list[ast.Name]]:
        """Where a name is used in a round before it is moved, and after."""
        before: list[ast.Name] = []
        after: list[ast.Name] = []
        for one in ring.body:
            moved = {id(n) for call in ast.walk(one) if self._is_move(call) for n in ast.walk(call)}
            for node in ast.walk(one):
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                    if one is statement and id(node) in moved:
                        continue
                    is_after = one.lineno > statement.lineno
                    carried = isinstance(one, ast.Return) and _is_element(node, one)
                    if not (is_after and carried):
                        (after if is_after else before).append(node)
        return before, after

    def _is_move(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and self._moved(node) is not None

    def _is_dropped(self, ring: Ring, name: str) -> bool:
        """Whether nothing reads what the last round has moved."""
        around = self.module.table.scope_of[ring.loop].function()
        if around is None or not isinstance(around.node, ast.FunctionDef):
            return False
        statement: ast.AST = ring.loop
        while not isinstance(statement, ast.stmt):
            statement = self.module.table.parents[statement]
        kept = name
        if isinstance(ring.loop, ast.Call):
            found = self._carried_as(ring, name, statement)
            if found is None:
                return False
            kept = found
        end = statement.end_lineno or statement.lineno
        reads = (n for n in ast.walk(around.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        within = any(isinstance(one, ast.For | ast.While) for one in self._above(statement, around.node))
        return not within and not any(one.id == kept and one.lineno > end for one in reads)

    def _above(self, node: ast.AST, top: ast.AST) -> Iterator[ast.AST]:
        while node is not top and node in self.module.table.parents:
            node = self.module.table.parents[node]
            yield node

    def _carried_as(self, ring: Ring, name: str, statement: ast.AST) -> str | None:
        """What the value that a loop carries under a name is called after it; None where that is not said."""
        if not isinstance(statement, ast.Assign) or statement.value is not ring.loop or len(statement.targets) != 1:
            return None
        unpacked = [
            one.targets[0] for one in ring.body if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name)
        ]
        path = next((path for one in unpacked if (path := _path(one, name)) is not None), None)
        target: ast.expr | None = statement.targets[0]
        if last_name(ring.loop.func) == "scan":
            target = target.elts[0] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
        for place in path or ():
            if isinstance(target, ast.Tuple) and place < len(target.elts):
                target = target.elts[place]
            elif not isinstance(target, ast.Name) or target.id != "_":
                return None
        return target.id if path is not None and isinstance(target, ast.Name) else None

    def _total(self, ring: Ring, name: str) -> str | None:
        """Where a loop adds a block to what starts with a device's own."""
        if not isinstance(ring.loop, ast.For):
            return None
        for one in ring.body:
            match one:
                case ast.AugAssign(target=ast.Name(id=total), op=ast.Add(), value=ast.Name(id=added)) if added == name:
                    pass
                case ast.Assign(
                    targets=[ast.Name(id=total)],
                    value=ast.BinOp(left=ast.Name(id=a), op=ast.Add(), right=ast.Name(id=b)),
                ) if {a, b} == {total, name}:
                    pass
                case _:
                    continue
            starts = [self._start(total, ring.loop), self._start(name, ring.loop)]
            if total != name and starts[0] is not None and starts[0] == starts[1]:
                return total
        return None

    def _start(self, name: str, loop: ast.For) -> str | None:
        """What a name holds when a loop begins, as it stands in the statements right above it."""
        block = getattr(self.module.table.parents[loop], "body", [])
        for one in reversed(block[: block.index(loop)] if loop in block else []):
            match one:
                case ast.Assign(targets=[ast.Tuple() as names], value=ast.Tuple(elts=values)):
                    path = _path(names, name)
                    if path is not None and len(path) == 1 and len(values) == len(names.elts):
                        return _shown(values[path[0]])
                case ast.Assign(targets=targets, value=value) if name in map(_shown, targets):
                    return _shown(value)
            if any(
                _shown(n) == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(one) if isinstance(n, ast.Name)
            ):
                return None
        return name


def _unpacks(statement: ast.stmt) -> bool:
    """Whether a statement does no more than give names to the parts of what a loop carries."""
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)


def _belonging(name: str) -> set[str]:
    """The names of the values that belong to keys of such a name, or of the keys that belong to values."""
    words = re.split(r"(_|\d+)", name)
    found = {"".join([*words[:n], PAIRED[one], *words[n + 1 :]]) for n, one in enumerate(words) if one in PAIRED}
    return found - {name}


def _shown(node: ast.expr) -> str | None:
    """The name that an expression is."""
    return node.id if isinstance(node, ast.Name) else None


def _path(target: ast.expr, name: str) -> tuple[int, ...] | None:
    """Where a name stands in what unpacks a tuple of tuples."""
    for place, one in enumerate(target.elts if isinstance(target, ast.Tuple) else []):
        if isinstance(one, ast.Name) and one.id == name:
            return (place,)
        inner = _path(one, name)
        if inner is not None:
            return (place, *inner)
    return None


def _is_element(node: ast.Name, statement: ast.Return) -> bool:
    """Whether a name is given back as it is, in a tuple."""
    pending = [statement.value]
    while pending:
        one = pending.pop()
        if one is node:
            return True
        if isinstance(one, ast.Tuple):
            pending.extend(one.elts)
    return False


def _elements(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[ast.expr, int]]:
    """The terms of a sum, with their signs."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as kind, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if isinstance(kind, ast.Add) else -sign)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _terms(operand, -sign)
        case _:
            yield node, sign


def _offset(node: ast.expr, name: str, size: str) -> int | None:
    """How far an end of a pair is from the counter of the list: 0 for itself, 1 for `(i + 1) % n`."""
    if isinstance(node, ast.Name):
        return 0 if node.id == name else None
    match node:
        case ast.BinOp(left=left, op=ast.Mod(), right=right) if ast.unparse(right) == size:
            found = 0
            counted = 0
            for term, sign in _terms(left, 1):
                if isinstance(term, ast.Constant) and isinstance(term.value, int):
                    found += sign * term.value
                elif isinstance(term, ast.Name) and term.id == name and sign == 1:
                    counted += 1
                elif ast.unparse(term) != size:
                    return None
            return found if counted == 1 else None
    return None


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0
