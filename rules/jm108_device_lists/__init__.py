"""JM108: a permutation or groups of devices that have one twice, or leave some out."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.device_groups import partial_reductions, written_groups
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.small_numbers import Lists, evaluated
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External, Function

CODE = "JM108"
PERMUTED = {name: int(position) for name, position in valued("perm").items()}
LAST = frozenset(name.rpartition(".")[2] for name in PERMUTED)
COUNTS = (4, 8)  # numbers of devices that a list is tried for: what is wrong is wrong for each
GROUP_COUNTS = (8, 16)  # for groups, of which a program may make one for each host
SIZES = re.compile(
    r"size|device|dev$|shard|world|rank|(^|\W)n$|num_|n_dev|stages", re.IGNORECASE
)  # names of the number of devices
OPPOSITE = {
    one: other
    for pair in ("left right", "up down", "forward backward", "fwd bwd", "next prev", "east west", "north south")
    for one, other in (pair.split(), reversed(pair.split()))
}
WAYS = re.compile("|".join(OPPOSITE))
Pairs = list[tuple[int, int]]


def check(facts: Facts) -> Iterator[Finding]:
    """Lists written out, or made of the number of devices, that are wrong whatever that number is."""
    for module in facts.modules:
        told_of: set[ast.expr] = set()
        if any(name in module.text for name in LAST):
            for perm in dict.fromkeys(_permutations(module, facts.resolver)):
                if (told := _of_permutation(perm, module, facts.resolver)) is not None:
                    yield from facts.finding(module, perm, CODE, f"ppermute: {told}")
                    told_of.add(perm)
            for one, other in _same_ways(module):
                if one not in told_of:
                    message = f"ppermute: this list is that of {other}, so both go the same way; exchange its pairs"
                    yield from facts.finding(module, one, CODE, message)
        yield from _groups(module, facts)
    for module, call, name in partial_reductions(facts):
        message = (
            f"{name} is reduced within each of axis_index_groups alone: the groups' parameters drift apart; leave "
            "axis_index_groups out, or reduce over the other devices as well"
        )
        yield from facts.finding(module, call, CODE, message)


def _same_ways(module: Module) -> Iterator[tuple[ast.expr, str]]:
    """Permutations of one function whose names say opposite ways, and that are the same, but for the first of them."""
    by_text: dict[tuple[ast.AST | None, str], list[tuple[str, ast.expr]]] = {}
    for one in module.table.parents:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=made) if _is_made_in_place(made) and WAYS.search(
                name.lower()
            ):
                by_text.setdefault((module.table.function_of(one), ast.unparse(made)), []).append((name, made))
    for same in by_text.values():
        first = WAYS.search(same[0][0].lower())
        for name, made in same[1:]:
            way = WAYS.search(name.lower())
            if first is not None and way is not None and OPPOSITE.get(first[0]) == way[0]:
                yield made, same[0][0]


def _groups(module: Module, facts: Facts) -> Iterator[Finding]:
    for given in written_groups(module):
        for groups in _written(given, module, facts.resolver):
            if (told := _of_groups(groups, module, facts.resolver)) is not None:
                yield from facts.finding(module, groups, CODE, f"axis_index_groups: {told}")


def _permutations(module: Module, resolver: Resolver) -> Iterator[ast.expr]:
    """The lists that ppermute is given in a module, and those that are called permutations, for wrappers to pass on."""
    for node in (n for name in LAST for n in module.table.named.get(name, ())):
        yield from _given(node, module, resolver)
    for one in module.table.parents:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=made) if "perm" in name and _is_made_in_place(made):
                yield made
            case ast.keyword(arg="perm", value=made) if _is_made_in_place(made):
                yield made


def _is_made_in_place(node: ast.expr) -> bool:
    """Whether an expression is a list comprehension, or a tuple or list made of a generator."""
    match node:
        case ast.ListComp() | ast.Call(func=ast.Name(id="tuple" | "list"), args=[ast.GeneratorExp() | ast.ListComp()]):
            return True
    return False


def _given(node: ast.expr, module: Module, resolver: Resolver) -> Iterator[ast.expr]:
    """The lists that a call of ppermute, or a partial of it, is given."""
    value = resolver.value(node, module)
    call = module.table.parents.get(node)
    if not isinstance(call, ast.Call) or not isinstance(value, External) or value.name not in PERMUTED:
        return
    arguments = call_arguments(call, module)
    if call.func is not node:
        callee = resolver.value(call.func, module)
        if not isinstance(callee, External) or callee.name not in PARTIALS or call.args[0] is not node:
            return
        arguments = arguments[1:]
    given = argument(arguments, PERMUTED[value.name], "perm")
    if given is not None and given.expression is not None:
        yield from _written(given.expression, module, resolver)


def _written(node: ast.expr, module: Module, resolver: Resolver) -> Iterator[ast.expr]:
    """What an expression is, what a name was assigned, or what a function of the module returns, each by itself."""
    if isinstance(node, ast.Call) and _makes(node, module, resolver) is not None:
        yield from _returned(node, (), module, resolver)
        return
    if not isinstance(node, ast.Name):
        yield node
        return
    for binding in resolver.bindings_at(node, module):
        if binding.kind == "assign" and binding.value is not None:
            if isinstance(binding.value, ast.Call) and _makes(binding.value, module, resolver) is not None:
                yield from _returned(binding.value, binding.path, module, resolver)
            elif not binding.path:
                yield binding.value


def _makes(call: ast.Call, module: Module, resolver: Resolver) -> ast.FunctionDef | None:
    """The function of the module that a call is of."""
    match resolver.value(call.func, module):
        case Function(module=home, node=ast.FunctionDef() as function) if home is module:
            return function
    return None


def _returned(call: ast.Call, path: Sequence[int | str], module: Module, resolver: Resolver) -> Iterator[ast.expr]:
    """What a function returns at a place of the tuple that it returns, written out or under a name of its own."""
    function = _makes(call, module, resolver)
    for one in returned_by(function) if function is not None else ():
        place = path[0] if path else None
        if isinstance(one, ast.Tuple) and isinstance(place, int) and place < len(one.elts):
            one = one.elts[place]
        elif place is not None:
            continue
        for made in [b.value for b in resolver.bindings_at(one, module)] if isinstance(one, ast.Name) else [one]:
            if made is not None and _is_made_in_place(made):
                yield made


def _of_permutation(node: ast.expr, module: Module, resolver: Resolver) -> str | None:
    """What is wrong with a list of pairs."""
    made = [Lists(module, resolver, count) for count in COUNTS]
    pairs = [_pairs(evaluated(one, node)) for one in made]
    if any(one is None for one in pairs):
        return None
    known = [one for one in pairs if one is not None]
    for side, word in ((1, "receives"), (0, "sends")):
        twice = [_twice([pair[side] for pair in one]) for one in known]
        if all(one is not None for one in twice) and _is_sure(node, made[0], side, module, resolver):
            return f"{_shown(twice)} {word} twice, which JAX refuses; each may send once and receive once"
    beyond = [max(target for _, target in one) >= count for count, one in zip(COUNTS, known, strict=True)]
    if all(beyond) and len(made[0].guessed) + made[0].sized == 1 and all(map(SIZES.search, made[0].guessed)):
        return "the last device sends to one that there is not, which JAX refuses; write % and their number"
    if made[0].wraps and len(made[0].guessed) + made[0].sized == 1 and _leaves_out(node, known, module, resolver):
        return "the ring does not close: % has no effect here, and a device that is sent nothing receives zeros"
    return None


def _shown(devices: Sequence[int | None]) -> str:
    """The device that is meant, tried for each number of devices."""
    last = all(device == count - 1 for device, count in zip(devices, COUNTS, strict=True))
    return "the last device" if last else f"device {devices[0]}"


def _pairs(value: object) -> Pairs | None:
    if not isinstance(value, list | tuple) or not value:
        return None
    for one in value:
        if not isinstance(one, tuple | list) or len(one) != 2 or not all(isinstance(n, int) for n in one):
            return None
    return [(one[0], one[1]) for one in value]


def _twice(numbers: Sequence[int]) -> int | None:
    return next((number for number, count in Counter(numbers).items() if count > 1), None)


def _is_sure(node: ast.expr, made: Lists, side: int, module: Module, resolver: Resolver) -> bool:
    """Whether a device is there twice whatever those numbers are that nothing is known of."""
    if not made.guessed or (len(made.guessed) == 1 and not made.sized):
        return True
    for guess in (1, 2, 3, 5):
        pairs = _pairs(evaluated(Lists(module, resolver, made.devices, guess), node))
        if pairs is None or _twice([pair[side] for pair in pairs]) is None:
            return False
    return True


def _leaves_out(node: ast.expr, pairs: list[Pairs], module: Module, resolver: Resolver) -> bool:
    """Whether a list in which numbers wrap around never reaches the place where they would."""
    for count, one in zip(COUNTS, pairs, strict=True):
        plain = _pairs(evaluated(Lists(module, resolver, count, wrapping=False), node))
        if plain != one or len({source for source, _ in one}) >= count:
            return False
    return True


def _of_groups(node: ast.expr, module: Module, resolver: Resolver) -> str | None:
    """What is wrong with a list of groups."""
    if _are_single(node):
        return "each group is one device, so that nothing is reduced; leave axis_index_groups out"
    made = [Lists(module, resolver, count) for count in GROUP_COUNTS]
    found = [_numbers(evaluated(one, node)) for one in made]
    if made[0].guessed and any(_starts_late(Lists(module, resolver, 8, guess), node) for guess in (2, 3, 5)):
        late = all(_starts_late(Lists(module, resolver, 8, guess), node) for guess in (2, 3, 5))
        return "device 0 is in no group; the groups must hold each device of the axis once" if late else None
    if any(one is None for one in found) or made[0].guessed:
        return None
    known = [one for one in found if one is not None]
    twice = [_twice(one) for one in known]
    if all(one is not None for one in twice):
        return f"device {twice[0]} is in two groups; the groups must hold each device of the axis once"
    if not made[0].sized and not all(known):
        return None
    if not made[0].sized and _are_unlike(node):
        return "the groups are of unlike sizes: pmean divides by the first's, others fail; give each as many devices"
    sizes = GROUP_COUNTS if made[0].sized else [max(one) + 1 for one in known]
    left = [next((n for n in range(size) if n not in one), None) for size, one in zip(sizes, known, strict=True)]
    if all(one is not None for one in left):
        return f"device {left[0]} is in no group; the groups must hold each device of the axis once"
    return None


def _are_single(node: ast.expr) -> bool:
    """`[[i] for i in range(n)]`."""
    match node:
        case ast.ListComp(
            elt=ast.List(elts=[ast.Name(id=one)]), generators=[ast.comprehension(target=ast.Name(id=own))]
        ):
            return one == own
    return False


def _are_unlike(node: ast.expr) -> bool:
    """Groups that are written out, and of which one holds more devices than another."""
    listed = node.elts if isinstance(node, ast.List | ast.Tuple) else ()
    sizes = {len(one.elts) if isinstance(one, ast.List | ast.Tuple) else -1 for one in listed}
    return len(sizes) > 1 and -1 not in sizes


def _starts_late(made: Lists, node: ast.expr) -> bool:
    """Whether the groups hold devices, and not the first."""
    numbers = _numbers(evaluated(made, node))
    return bool(numbers) and 0 not in (numbers or ())


def _numbers(value: object) -> list[int] | None:
    """The devices of all groups."""
    if not isinstance(value, list | tuple):
        return None
    groups = [list(one) if isinstance(one, list | tuple | range) else None for one in value]
    numbers = [number for group in groups if group is not None for number in group]
    plain = None not in groups and all(isinstance(number, int) for number in numbers)
    return numbers if plain else None
