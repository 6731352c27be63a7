"""Random keys that are the same at each step: none is split off for it, and no number of the step is folded in."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.unchanging import DRAWS, RANDOM, Unchanging, given_back
from jaxmigrate.flow.variance import Draw
from jaxmigrate.flow.variance.lattice import KEPT
from jaxmigrate.flow.variance.run import KEY
from jaxmigrate.program.library import named, valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.scopes import all_parameters, positional_names
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.trees import ANY_TREE_MAPS, PATH_MAPS
from jaxmigrate.program.values import External

ROUNDS = ast.For | ast.AsyncFor | ast.While
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
ORDERS = frozenset({"permutation", "shuffle", "permuted"})
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
MEASURING = re.compile("bench|profil|speed|timing|throughput")
ORDERING = named("order") | {"jax.random.choice"}  # rows of several arrays are put into one order on purpose
DEEPEST = 5
CARRIES = valued("carry")
MAPPING = ANY_TREE_MAPS | PATH_MAPS


class Stale(NamedTuple):
    """A key that is the same each time: where it stands, and where is drawn by it."""

    module: Module
    node: ast.expr
    draw: Draw


def unrenewed(facts: Facts) -> Iterator[Stale]:
    """Keys that loops of the host's code give to a map which changes what it is given, each time the same."""
    for found, reading in facts.readings:
        told = [*_given_again(found, _drawn(reading.draws), facts)]
        if told and reading.assumed:  # to read it once more takes longer than all else
            told = [*_given_again(found, _drawn(facts.confirmed(found, reading).draws), facts)]
        yield from told


def _given_again(found: DeviceMap, kept: Mapping[int | None, Draw], facts: Facts) -> Iterator[Stale]:
    """The keys among those that a map draws by as they are which are the same in each round of the host's loop."""
    names = found.parameters()
    for call, module in facts.runs_of(found) if kept else ():
        within = None if module.is_test or MEASURING.search(module.path.name.lower()) else _repeats(call, module)
        if within is None:
            continue
        given = passed_by(call, names)
        for number, draw in kept.items():
            rounds = Unchanging(within, module, facts.resolver)
            if number is None:
                key = key_of(draw)
                if key is not None and not draw.module.is_test:
                    yield Stale(draw.module, key, draw)
            elif number < len(names) and names[number] in given and rounds.is_same(given[names[number]]):
                yield Stale(module, rounds.first or given[names[number]], draw)


class Yielded(NamedTuple):
    """A key that a generator gives again and again."""

    module: Module
    node: ast.expr


def yielded(facts: Facts) -> Iterator[Yielded]:
    """Keys that generators split in each round off one that nothing replaces."""
    for module in facts.modules:
        if "yield" not in module.text or KEY.search(module.text) is None or module.is_test:
            continue
        for function in module.table.own_scope:
            if isinstance(function, ast.FunctionDef) and any(isinstance(o, ast.Yield) for o in ast.walk(function)):
                yield from (Yielded(module, one) for one in _yielded_by(function, module, facts))


def _yielded_by(function: ast.FunctionDef, module: Module, facts: Facts) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        loop: ast.AST | None = node if isinstance(node, ast.Yield) else None
        while loop is not None and not isinstance(loop, ROUNDS) and loop is not function:
            loop = module.table.parents.get(loop)
        if not isinstance(node, ast.Yield) or not isinstance(loop, ROUNDS):
            continue
        for one in node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]:
            if isinstance(one, ast.Name) and KEY.search(one.id):
                rounds = Unchanging(loop, module, facts.resolver)
                if rounds.is_same(one) and rounds.first is not None:
                    yield rounds.first


def _drawn(draws: list[Draw]) -> dict[int | None, Draw]:
    """The keys that are drawn by as they are given, each with a draw: by their positions, None for one from outside."""
    found: dict[int | None, Draw] = {}
    for draw in draws:
        for mark in draw.key.marks:
            if mark.startswith(KEPT):
                name = mark.removeprefix(KEPT)
                found.setdefault(int(name) if name.isdecimal() else None, draw)
    return found


def _repeats(call: ast.Call, module: Module) -> ast.AST | None:
    """What runs a call again and again, with what it gave before: a loop, or a method that keeps it in its object."""
    back = fed_back(call, module)
    current: ast.AST | None = call
    while current is not None and not isinstance(current, FUNCTIONS):
        if isinstance(current, ROUNDS) and any(_is_carried(one, call, current, module) for one in back):
            return current
        current = module.table.parents.get(current)
    return current if any(one.startswith("self.") for one in back) else None


def _is_carried(name: str, call: ast.Call, loop: ast.AST, module: Module) -> bool:
    """Whether a name comes into a round of a loop as the round before left it, and is not what this round works on."""
    statement = module.table.statement_of(call)
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            other = module.table.statement_of(node)
            made = other.value if isinstance(other, ast.Assign) else None
            again = isinstance(other, ast.AugAssign) or (made is not None and _mentions(made, name))
            if other is not statement and not again:
                return False
    return True


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))


def fed_back(call: ast.Call, module: Module) -> set[str]:
    """The names and attributes that a call is given and that are assigned what it gives."""
    statement = module.table.statement_of(call)
    if not isinstance(statement, ast.Assign):
        return set()
    targets = {ast.unparse(one) for t in statement.targets for one in ast.walk(t) if isinstance(one, ast.expr)}
    passed = [*call.args, *(one.value for one in call.keywords)]
    given = {ast.unparse(p) for one in passed for p in ast.walk(one) if isinstance(p, ast.Name | ast.Attribute)}
    return targets & given


class Unreplaced(NamedTuple):
    """A key that is a field of a state, and the call that makes the next state without another one."""

    module: Module
    call: ast.Call
    field: str
    draw: Draw


def unreplaced(facts: Facts) -> Iterator[Unreplaced]:
    """Keys of states by which mapped functions draw, and that nothing in the program replaces."""
    for _, reading in facts.readings:
        for draw in reading.draws:
            key = key_of(draw)
            field = field_of(key, draw.module, facts) if key is not None else None
            around = draw.module.table.function_of(field) if field is not None else None
            if field is None or around is None or draw.module.is_test:
                continue
            for call in calls_of(around):
                method = call.func
                made = isinstance(method, ast.Attribute) and method.attr in ("apply_gradients", "replace")
                if made and isinstance(method, ast.Attribute) and ast.unparse(method.value) == ast.unparse(field.value):
                    if not _is_replaced(field.attr, facts):
                        yield Unreplaced(draw.module, call, ast.unparse(field), draw)
                    break


def field_of(key: ast.expr, module: Module, facts: Facts, depth: int = 0) -> ast.Attribute | None:
    """The field of a parameter that a key is made of alone."""
    match key:
        case ast.Attribute(value=ast.Name() as owner, attr=name) if KEY.search(name):
            holder = module.table.scope_of[owner].lookup(owner.id)
            return key if holder is not None and any(b.kind == "param" for b in holder.bindings[owner.id]) else None
        case ast.Subscript(value=inner):
            return field_of(inner, module, facts, depth)
        case ast.Call(args=[inner, *rest]):
            callee = facts.resolver.value(key.func, module)
            name = callee.name if isinstance(callee, External) else ""
            plain = all(map(_is_of_no_step, rest))
            return field_of(inner, module, facts, depth) if plain and name.startswith(RANDOM) else None
        case ast.Name() if depth < DEEPEST:
            holder = module.table.scope_of[key].lookup(key.id)
            bindings = reaching(holder.bindings[key.id], key, module) if holder is not None else []
            values = [one.value for one in bindings]
            return field_of(values[0], module, facts, depth + 1) if len(values) == 1 and values[0] is not None else None
    return None


def _is_of_no_step(node: ast.expr) -> bool:
    """Whether what is folded into a key, or says how many it is split into, is a number or the index of a device."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Call) and "index" in last_name(node.func))


def _is_replaced(field: str, facts: Facts) -> bool:
    """Whether a program gives the field of some object another value: not where it makes a first one."""
    again = re.compile(rf"\b{field}\s*=[^=]|[\"']{field}[\"']")
    for module in facts.resolver.project.program:
        if again.search(module.text) is None:
            continue
        if any(one.attr == field for one in module.table.attributes) or re.search(rf"[\"']{field}[\"']", module.text):
            return True
        for call in module.table.calls:
            named_so = any(one.arg == field for one in call.keywords)
            if named_so and last_name(call.func) != "create" and not _makes_first(call, module):
                return True
    return False


def _makes_first(call: ast.Call, module: Module) -> bool:
    """Whether a call makes an object of a class, in a function that is given no state."""
    around = module.table.function_of(call)
    given = [] if around is None else [one.arg for one in all_parameters(around.args)]
    return last_name(call.func)[:1].isupper() and not any("state" in name for name in given)


class Again(NamedTuple):
    """A draw whose key is the same each time that it is reached; `loop`: a loop of JAX's runs it, step by step."""

    module: Module
    node: ast.expr
    loop: str


def drawn_again(facts: Facts) -> Iterator[Again]:
    """Draws in mapped functions, in a loop or for each leaf of a tree, by a key that is made outside of it."""
    seen: set[ast.expr] = set()
    mapped = {found.function.node for found in facts.all_maps}
    for _, reading in facts.readings:
        for draw in reading.draws:
            drawn = draw.name in DRAWS or draw.name.startswith("rngs")
            if drawn and draw.node not in seen and not draw.module.is_test:
                seen.add(draw.node)
                for node, key in _reached(draw, mapped):
                    loop = _around(node, key, draw, facts)
                    if loop:
                        yield Again(draw.module, node, loop)
                        break


def _reached(draw: Draw, mapped: Collection[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """A draw with its key, and the calls in its module that give the function around it its key as a parameter."""
    key = key_of(draw)
    node: ast.expr = draw.node
    if key is None:
        return
    yield node, key
    table = draw.module.table
    function = table.function_of(node)
    if not isinstance(function, ast.FunctionDef) or function in mapped or not isinstance(key, ast.Name):
        return
    holder = table.scope_of[key].lookup(key.id)
    plain = holder is not None and holder.node is function and len(holder.bindings[key.id]) == 1
    if plain and key.id in positional_names(function.args):
        for name in table.named.get(function.name, ()):
            call = table.parents.get(name)
            if isinstance(name, ast.Name) and isinstance(call, ast.Call) and call.func is name:
                given = passed_by(call, positional_names(function.args)).get(key.id)
                if given is not None:
                    yield call, given


def key_given(call: ast.Call) -> ast.expr | None:
    """The key that a function of `jax.random` is given: first, or by its name."""
    return next(iter([*call.args[:1], *(one.value for one in call.keywords if one.arg == "key")]), None)


def key_of(draw: Draw) -> ast.expr | None:
    """The key that a draw is given."""
    node = draw.node
    if not isinstance(node, ast.Call):
        return None
    if draw.name in DRAWS:
        return key_given(node)
    if draw.name.startswith("rngs"):
        given = next((one.value for one in node.keywords if one.arg == "rngs"), None)
        if isinstance(given, ast.Dict):
            wanted = draw.name.removeprefix("rngs").strip()
            pairs = zip(given.keys, given.values, strict=True)
            return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == wanted), None)
        return given
    return next((one for one in node.args if KEY.search(last_name(one))), None)


def _around(node: ast.expr, key: ast.expr, draw: Draw, facts: Facts) -> str:
    """What runs a draw several times with the same key: "scan", "tree" or "round"; empty for nothing."""
    module, table = draw.module, draw.module.table
    orders = draw.name in ORDERING
    current: ast.AST | None = table.parents.get(node)
    while current is not None and not isinstance(current, ast.ClassDef | ast.Module):
        if isinstance(current, FUNCTIONS):
            uses = [*_uses(current, module, facts)]
            carried = _carried(current, uses)
            if not Unchanging(current, module, facts.resolver, carried).is_same(key):
                return ""
            for name, _ in uses:
                if name in CARRIES:
                    return "" if _is_of_shuffled(current, module) else "scan"
                if name in MAPPING and draw.common and not orders:
                    return "tree"  # of parameters or their gradients, which are many
        elif isinstance(current, ROUNDS | COMPREHENSIONS) and _runs_inside(node, current, table.parents):
            same = Unchanging(current, module, facts.resolver).is_same(key)
            if same and not orders:
                return "round"
            if not same:
                return ""
        current = table.parents.get(current)
    return ""


def _is_of_shuffled(function: ast.AST, module: Module) -> bool:
    """Whether what a loop runs stands in a function that shuffles rows: the same numbers fall on other ones then."""
    above = module.table.parents.get(function)
    around = module.table.function_of(above) if above is not None else None
    calls = calls_of(around) if isinstance(around, ast.FunctionDef) else ()
    return any(last_name(one.func) in ORDERS for one in calls)


def _runs_inside(node: ast.AST, loop: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a loop runs an expression in each round, and not once before it begins."""
    below = node
    while parents[below] is not loop:
        below = parents[below]
    return below not in (getattr(loop, "iter", None), *getattr(loop, "generators", ()), *getattr(loop, "orelse", ()))


def _uses(function: ast.AST, module: Module, facts: Facts) -> Iterator[tuple[str, int]]:
    """The functions of JAX that a function is given to, by their names, and the place at which it is given."""
    table = module.table
    uses: list[ast.AST] = [function]
    if isinstance(function, ast.FunctionDef):
        uses = [one for one in table.named.get(function.name, ()) if isinstance(one, ast.Name)]
    for use in uses:
        call = table.parents.get(use)
        if isinstance(call, ast.Call) and last_name(call.func) in ("checkpoint", "remat") and use in call.args:
            use, call = call, table.parents.get(call)
        if isinstance(call, ast.Call) and use in call.args and isinstance(use, ast.expr):
            callee = facts.resolver.value(call.func, module)
            if isinstance(callee, External):
                yield callee.name, call.args.index(use)


def _carried(function: ast.AST, uses: list[tuple[str, int]]) -> frozenset[str]:
    """The variables of a loop's function that it hands on to its next round as they were."""
    loops = [name for name, _ in uses if name in CARRIES]
    if len(loops) != 1 or len(uses) != 1 or not isinstance(function, ast.FunctionDef | ast.Lambda):
        return frozenset()
    place = CARRIES[loops[0]]
    return given_back(function, 1 if place == "3" else 0, place == "1")
